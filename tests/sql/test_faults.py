"""Every fault of the simulator, delivered to a feed whose shelf holds the good file: what becomes of it."""

import pytest

from db import engine
from feedmill.simulator.catalogue import make_catalogue
from feedmill.simulator.faults import FAULTS, write_faulty
from feedmill.simulator.files import write_csv
from tests.mill import after, touch
from tests.plain import PlainMill

SIZE = 400
GOOD = make_catalogue(7, SIZE)


@pytest.fixture(scope="module")
def shared(embedded_server):
    """One database for all faults, each of which has a feed of its own."""
    with embedded_server.clone() as url, pytest.MonkeyPatch.context() as environment:
        environment.setenv("FEEDMILL_DATABASE_URL", url)
        environment.setenv("FEEDMILL_TEST_CLOCK", "1")
        with engine.open_connection(url) as conn:
            yield conn


@pytest.fixture
def mill(shared, tmp_path, request):
    name = request.node.callspec.params["name"]
    path = tmp_path / ("catalog.csv.gz" if FAULTS[name].is_packed else "catalog.csv")
    mill = PlainMill(shared, path, name.replace("_", "-")).put_on_file()
    write_csv(GOOD, path)
    mill.run(at=after(1))
    return mill


def by_outcome(is_wanted):
    return pytest.mark.parametrize("name", [name for name, fault in FAULTS.items() if is_wanted(fault.stopped_by)])


def is_reason(code):
    return code.endswith(("_SPIKE", "_EXCEEDED"))


def deliver(mill, name):
    write_faulty(name, GOOD, mill.path)
    touch(mill.path)


@by_outcome(is_reason)
def test_fault_that_a_gate_stops(mill, name):
    shown = mill.offers(after(2))
    deliver(mill, name)
    record = mill.run(at=after(2))
    assert (record["expiry_blocked_reason"], record["promotion_seq"]) == (FAULTS[name].stopped_by, None)
    assert mill.offers(after(2)) == shown


@by_outcome(lambda code: code and not is_reason(code))
def test_fault_for_which_the_file_is_refused(mill, name):
    shown = mill.offers(after(2))
    deliver(mill, name)
    record = mill.fail(at=after(2))
    assert record["error_code"] == FAULTS[name].stopped_by
    assert mill.offers(after(2)) == shown


@by_outcome(lambda code: not code)
def test_fault_that_nothing_stops_is_known(mill, name):
    """A gate that learns to stop one of these turns this red, so that the list in the documents stays true."""
    deliver(mill, name)
    record = mill.run(at=after(2))
    assert (record["expiry_blocked"], record["promotion_seq"]) == (False, 2)
    assert FAULTS[name].note
