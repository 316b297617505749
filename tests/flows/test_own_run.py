"""`feedmill run` and `replay` tell of the run that they made, though others run the same feed."""

import importlib
import json

import pytest

from db.clock import iso
from db.errors import BusyError
from feedmill import cli, contract
from tasks import begun
from tests.mill import after, row


@pytest.fixture
def feedmill(prefect_session, capsys):
    def run(*arguments):
        capsys.readouterr()
        code = contract.run(cli.app, [*map(str, arguments), "--json", "--at", iso(after(2))])
        return code, json.loads(capsys.readouterr().out)

    return run


@pytest.fixture
def overtaken(monkeypatch):
    """Lets somebody else do something when the flow of this name has ended and nobody has looked at it yet."""

    def replace(name, by):
        module = importlib.import_module(f"flows.{name}")
        flow = getattr(module, name)

        def and_then_somebody_else(*args, **kwargs):
            try:
                flow(*args, **kwargs)
            finally:
                monkeypatch.setattr(module, name, flow)  # theirs is not overtaken in turn
                with begun.runs_begun():  # as seen from elsewhere
                    by()

        monkeypatch.setattr(module, name, and_then_somebody_else)

    return replace


def test_run_prints_its_own_run(feedmill, mill, overtaken):
    mill.deliver(row(1))
    overtaken("ingest_feed", lambda: mill.run(at=after(3), force=True))
    code, record = feedmill("run", mill.key)
    assert (code, record["id"], record["status"]) == (0, str(mill.runs()[1]["id"]), "SUCCEEDED")


def test_run_that_failed_prints_its_own_run(feedmill, mill, overtaken):
    def repair_and_run():
        mill.deliver(row(1))
        mill.run(at=after(3))

    overtaken("ingest_feed", repair_and_run)
    code, record = feedmill("run", mill.key)
    assert (code, record["id"], record["error_code"]) == (1, str(mill.runs()[1]["id"]), "FILE_NOT_FOUND")


def test_run_that_did_not_begin_is_not_taken_for_the_one_that_did(feedmill, mill, monkeypatch):
    mill.deliver(row(1))
    flow = importlib.import_module("flows.ingest_feed").ingest_feed

    def too_late(*args, **kwargs):
        monkeypatch.setattr("flows.ingest_feed.ingest_feed", flow)
        with begun.runs_begun():  # as seen from elsewhere
            mill.run(at=after(3))
        raise BusyError

    monkeypatch.setattr("flows.ingest_feed.ingest_feed", too_late)
    code, document = feedmill("run", mill.key)
    assert (code, document["error"]["code"], len(mill.runs())) == (75, "FEED_BUSY", 1)


def test_replay_prints_its_own_run(feedmill, mill, overtaken):
    mill.deliver(row(1))
    first = mill.run(at=after(1))
    overtaken("replay_run", lambda: mill.run(at=after(3), force=True))
    code, record = feedmill("replay", first["id"])
    assert (code, record["id"]) == (0, str(mill.runs()[1]["id"]))
    assert record["replayed_from_run_id"] == str(first["id"])
