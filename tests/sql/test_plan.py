"""A plan and the run that keeps to it: the same counts, the same products, or no run at all."""

from itertools import count

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from db.clock import Clock
from db.engine import snapshot
from db.errors import RefusedError, StatementRefusedError
from tasks.catalogue import registry
from tasks.catalogue.planning import plan_feed
from tasks.catalogue.shelf.steps import settle
from tasks.catalogue.steps import fetch_file, load_file
from tasks.errors import PlanChangedError
from tasks.exclusive import LockLostError
from tests.builders import insert
from tests.mill import START, after, deliver, row
from tests.plain import PlainMill

_keys = count(1)


@pytest.fixture
def drawer(conn, tmp_path, monkeypatch):
    monkeypatch.setenv("FEEDMILL_TEST_CLOCK", "1")
    return PlainMill(conn, tmp_path / "catalog.csv")


@pytest.fixture
def mill(drawer):
    return drawer.put_on_file()


def planned(mill, at=None):
    return plan_feed(mill.key, Clock(at), sample=5)


def digest(mill, at=None):
    return planned(mill, at).plan.digest


def refused(mill, plan, at=None):
    """The record of a run that did not keep to its plan."""
    before = mill.written()
    with pytest.raises(PlanChangedError):
        mill.run(at=at, plan=plan)
    assert mill.written() == before
    return mill.newest_run()


# One row of a product: its number, price, stock, name, currency; some rows cannot be used.
rows = st.builds(
    row,
    st.integers(1, 8),
    price=st.sampled_from(["10.00", "12.50", "99.99", "free"]),
    stock=st.sampled_from(["Y", "N"]),
    name=st.sampled_from(["Tent", "Tent, 2 season", "Tarp"]),
    currency=st.sampled_from(["USD", "USD", "EUR"]),
    item=st.just(""),
)
days = st.tuples(st.lists(rows, max_size=10), st.integers(1, 8)).map(lambda day: [*day[0], row(day[1], item="")])


histories = st.lists(st.tuples(days, st.sampled_from([1, 13, 30])), min_size=2, max_size=4)
quick = settings(max_examples=6, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


@quick
@given(history=histories)
def test_a_plan_and_the_run_that_follows_agree_in_every_count_and_product(drawer, history):
    agree(drawer, history)


@pytest.mark.slow
@settings(quick, max_examples=200)
@given(history=histories)
def test_plans_and_runs_agree_over_many_histories(drawer, history):
    agree(drawer, history)


def agree(drawer, history):
    """Over days that come, change, go, return, are held back, and are old enough for heartbeats."""
    key, hours = f"feed-{next(_keys)}", 0
    mill = PlainMill(drawer.conn, drawer.path, key).put_on_file(gates={"spike": {"share": 0.4, "least": 2}})
    for day, later in history:
        hours += later
        deliver(mill.path, day)
        plan = planned(mill, after(hours)).plan
        record = mill.run(at=after(hours), plan=plan.digest)
        assert {name: record[name] for name in plan.figures()} == plan.figures()
        assert touched(mill, record) == foretold(mill, plan)
        assert record["plan_digest"] == plan.digest


def foretold(mill, plan):
    """By kind, the identities of a plan; products that go and come move only if no gate trips."""
    moved = {"gone": plan.gone, "entered": plan.products.filter(~plan.products["is_open"].fill_null(value=False))}
    written = {"new": plan.new, "priced": plan.products.filter(plan.products["price_reason"].is_not_null())}
    if plan.reasons:
        moved = {name: frame.clear() for name, frame in moved.items()}
    else:
        written["changed"] = plan.changed  # a waiting change is not applied
    return {name: sorted(frame["identity_value"]) for name, frame in {**moved, **written}.items()}


def touched(mill, record):
    """The same, from what the run left in the database."""
    source_id, run_id, seq = record["source_id"], record["id"], record["promotion_seq"]
    found = {
        "gone": ("JOIN shelf_spans s ON s.product_id = p.id WHERE s.to_seq = %s - 1 AND s.source_id = %s", seq),
        "entered": ("JOIN shelf_spans s ON s.product_id = p.id WHERE s.from_seq = %s AND s.source_id = %s", seq),
        "new": ("WHERE p.created_by_run_id = %s AND p.source_id = %s", run_id),
        "priced": (
            "JOIN prices r ON r.source_product_id = p.id WHERE r.affiliate_feed_run_id = %s AND source_id = %s",
            run_id,
        ),
    }  # fmt: skip
    if seq is not None:
        changed = "WHERE p.last_updated_by_run_id = %s AND p.created_by_run_id <> p.last_updated_by_run_id"
        found["changed"] = (f"{changed} AND p.source_id = %s", run_id)
    return {
        name: sorted(
            found["identity_value"]
            for found in mill.conn.execute(f"SELECT p.identity_value FROM source_products p {rest}", [value, source_id])  # noqa: S608
        )
        for name, (rest, value) in found.items()
    }


def test_a_plan_writes_nothing_at_all(mill, tmp_path, monkeypatch):
    monkeypatch.setenv("FEEDMILL_ARCHIVE_URL", (tmp_path / "archive").as_uri())
    mill.deliver(row(1), row(2), row(3, price="free"))
    mill.run(at=after(1))
    mill.deliver(row(2, name="New"), row(4), row(2))
    tables = (
        "SELECT table_name FROM information_schema.tables WHERE table_schema = 'public' AND table_type = 'BASE TABLE'"
    )
    names = [found["table_name"] for found in mill.conn.execute(tables)]
    assert "prices" in names
    before = {name: mill.contents(name) for name in names}, sorted(tmp_path.rglob("*"))
    planned(mill, after(2))
    assert ({name: mill.contents(name) for name in names}, sorted(tmp_path.rglob("*"))) == before


def test_a_plan_reads_in_a_transaction_that_cannot_write(conn):
    with pytest.raises(StatementRefusedError, match="read-only"), snapshot(conn):
        insert(conn, "tenants", id="acme", name="Acme")


def test_a_file_that_changed_since_the_plan_is_refused_and_counts_for_nothing(mill):
    mill.deliver(row(1))
    mill.run(at=after(1))
    mill.deliver(row(1, price="11.00"))
    plan = digest(mill)
    mill.deliver(row(1, price="12.00"))
    for _ in range(4):
        record = refused(mill, plan, at=after(2))
        assert (record["status"], record["error_code"], record["error_class"]) == (
            "FAILED",
            "PLAN_CHANGED",
            "permanent",
        )
    feed = mill.feed()
    assert (feed["status"], feed["consecutive_failures"]) == ("ENABLED", 0)


def test_a_shelf_that_changed_since_the_plan_is_refused(mill):
    mill.deliver(row(1), row(2))
    plan = digest(mill)
    mill.run(at=after(1))
    assert refused(mill, plan, at=after(2))["error_code"] == "PLAN_CHANGED"


def test_limits_that_changed_since_the_plan_are_refused(mill):
    mill.deliver(row(1))
    plan = digest(mill)
    gates = {"gates": {"spike": {"share": 0.5}}}
    registry.change_feed(mill.conn, mill.key, gates, registry.Actor("test", Clock(after(1))))
    refused(mill, plan, at=after(2))


def test_a_digest_does_not_depend_on_the_time(mill):
    """Heartbeats come with time, and nothing else does."""
    mill.deliver(row(1))
    mill.run(at=after(1))
    mill.deliver(row(1), row(2))
    soon, late = planned(mill, after(2)), planned(mill, after(100))
    assert soon.plan.digest == late.plan.digest
    assert [forecast.plan.priced["heartbeat"] for forecast in (soon, late)] == [0, 1]


@pytest.mark.spec("002 9.5")
def test_a_run_by_plan_reads_a_file_that_did_not_change(mill):
    mill.deliver(row(1))
    mill.run(at=after(1))
    forecast = planned(mill)
    assert forecast.would_skip == "UNCHANGED_HASH"
    assert mill.run(at=after(2), plan=forecast.plan.digest)["skipped_reason"] is None


def test_a_further_attempt_goes_on_where_the_first_one_wrote(mill):
    mill.deliver(row(1))
    plan = digest(mill)
    with mill.begun(at=after(1), plan=plan) as (run, folder):
        path = fetch_file.fn(run, folder).path
        load_file.fn(run, path)
        settle.fn(run, load_file.fn(run, path))
    assert mill.newest_run()["status"] == "SUCCEEDED"


def test_gates_block_a_run_by_plan(mill):
    mill.deliver(*[row(number) for number in range(1, 31)])
    mill.run(at=after(1))
    mill.deliver(row(1))
    plan = planned(mill).plan
    assert [reason.code for reason in plan.reasons] == ["SPIKE_THRESHOLD_EXCEEDED"]
    assert mill.run(at=after(2), plan=plan.digest)["expiry_blocked_reason"] == "SPIKE_THRESHOLD_EXCEEDED"


def test_prices_move_against_what_shows_and_not_against_what_waits(mill):
    mill.deliver(*[row(number, price="10.00") for number in range(1, 31)])
    mill.run(at=after(1))
    mill.deliver(row(1, price="50.00"))
    assert mill.run(at=after(2))["expiry_blocked"]
    others = [row(number, price="10.00") for number in range(5, 31)]
    mill.deliver(row(1, price="50.00"), row(2, price="9.00"), row(3, stock="N"), row(4, currency="EUR"), *others)
    forecast = planned(mill)
    moves = [
        (move["identity_value"], str(move["price_shown"]), move["factor"]) for move in forecast.samples["price_moves"]
    ]
    assert moves == [("item-1", "10.00", 5.0), ("item-3", "10.00", 3.0), ("item-2", "10.00", 0.9)]
    assert forecast.plan.shelf_changes() == {
        "prices_up": 2, "prices_down": 1, "currencies_changed": 1, "sold_out": 1, "restocked": 0,
    }  # fmt: skip
    counted = {(part["above"], part["up_to"]): part["count"] for part in forecast.plan.distribution() if part["count"]}
    assert counted == {(-20, -10): 1, (50, None): 2}


def test_samples_say_what_changes(mill):
    mill.deliver(row(1), row(2), row(3))
    mill.run(at=after(1))
    mill.deliver(row(1), row(2))
    mill.run(at=after(2))
    mill.deliver(row(2, name="Tarp", brand="Ridge"), row(3), row(4, name="Stove"))
    samples = planned(mill).samples
    names = {kind: [(found["identity_value"], found["title"]) for found in samples[kind]] for kind in samples}
    assert names == {
        "new": [("item-4", "Stove")],
        "changed": [("item-2", "Tarp")],
        "vanished": [("item-1", "Tent 1")],
        "returned": [("item-3", "Tent 3")],
        "price_moves": [],
    }
    assert samples["changed"][0]["fields_changed"] == ["title", "brand"]


def test_a_plan_of_a_busy_feed_says_so(mill):
    mill.deliver(row(1))
    assert not planned(mill).is_busy
    with pytest.raises(KeyboardInterrupt), mill.begun(at=after(1)):
        assert planned(mill).is_busy
        raise KeyboardInterrupt


def test_a_removed_feed_has_no_plan(mill):
    registry.remove_feed(mill.conn, mill.key, registry.Actor("test", Clock(START)))
    with pytest.raises(RefusedError, match="removed"):
        planned(mill)


def lose(mill, **asked):
    """The job of a run whose session ends, as if its process were killed."""
    with pytest.raises(LockLostError), mill.begun(at=after(1), **asked) as (run, _):
        run.conn.close()
    return run.job_id


def begin(mill, **asked):
    """What a run has to keep to that is started now; it stops at once."""
    with pytest.raises(KeyboardInterrupt), mill.begun(at=after(2), **asked) as (run, _):
        raise KeyboardInterrupt
    return run


def test_a_job_that_is_started_again_keeps_to_its_plan(mill):
    job_id = lose(mill, plan="0" * 64)
    assert begin(mill, job_id=job_id).parameters == {"plan": "0" * 64}


def test_a_person_who_asks_for_a_run_gets_one_without_the_plan_of_the_job_that_waits(mill):
    job_id = lose(mill, plan="0" * 64)
    run = begin(mill)
    assert (run.job_id, run.parameters) == (job_id, {})
