"""`feedmill approve`, `reject` and the report of a blocked run, as one gets them in a shell."""

import json
import re
from dataclasses import dataclass

import pytest

import feedmill as api
from db import engine
from db.clock import iso
from db.ids import new_id
from feedmill import cli, contract
from tasks import exclusive
from tests.mill import after, row
from tests.plain import PlainMill


@dataclass(frozen=True)
class Said:
    code: int
    out: str
    err: str

    @property
    def document(self):
        return json.loads(self.out)


@pytest.fixture
def feedmill(capsys):
    def run(*arguments):
        capsys.readouterr()
        code = contract.run(cli.app, [str(argument) for argument in arguments])
        return Said(code, *capsys.readouterr())

    return run


@pytest.fixture
def mill(conn, tmp_path, monkeypatch):
    monkeypatch.setenv("FEEDMILL_TEST_CLOCK", "1")
    return PlainMill(conn, tmp_path / "catalog.csv").put_on_file()


@pytest.fixture
def blocked(mill):
    """Twenty of thirty products gone, two new, one back, prices up and down; three runs before it."""
    mill.deliver(*products(range(1, 32)))
    mill.run(at=after(1))
    mill.deliver(*products(range(1, 31)))
    mill.run(at=after(2))
    mill.deliver(row(1))
    assert mill.run(at=after(3))["expiry_blocked"]
    mill.deliver(
        row(1, price="20.00"), row(2, price="10.00"), row(3, price="3000.00"), *products([4, 5, 6, 7, 8, 9, 10]),
        *products([31, 98, 99], brand="Newcomer"),
    )  # fmt: skip
    return mill.run(at=after(4))


def products(numbers, **cells):
    return [row(number, **{"brand": "Cairn" if number % 2 else "Ridgeline", **cells}) for number in numbers]


def at(hours):
    return ("--at", iso(after(hours)))


def test_evidence_tells_what_would_go_and_come(feedmill, blocked):
    document = feedmill("run-show", blocked["id"], "--json").document
    evidence = document["evidence"]
    assert document["expiry_blocked_reason"] == "SPIKE_THRESHOLD_EXCEEDED"
    figures = ("active_count_before", "seen_success_count", "would_expire_count", "expire_share")
    assert [evidence[name] for name in figures] == [30, 10, 20, 0.6667]
    gone = evidence["would_go"]
    assert gone["by_brand"] == [{"brand": "Cairn", "count": 10}, {"brand": "Ridgeline", "count": 10}]
    assert gone["by_category"] == [{"category": None, "count": 20}]
    assert len(gone["sample"]) == 10
    assert {product["identity_value"] for product in gone["sample"]} <= {f"item-{number}" for number in range(11, 31)}
    come = evidence["would_come"]
    assert {product["identity_value"] for product in come["sample"]} == {"item-31", "item-98", "item-99"}
    assert {product["price"] for product in come["sample"]} == {"310.00", "980.00", "990.00"}


def test_evidence_tells_the_prices_that_move_most(feedmill, blocked):
    moves = feedmill("run-show", blocked["id"], "--json").document["evidence"]["price_moves"]
    assert [(move["identity_value"], move["price_before"], move["price_after"]) for move in moves] == [
        ("item-3", "30.00", "3000.00"), ("item-1", "10.00", "20.00"), ("item-2", "20.00", "10.00")
    ]  # fmt: skip
    assert [float(move["factor"]) for move in moves] == [100, 2, 0.5]


def test_evidence_has_the_figures_of_the_runs_before(feedmill, mill, blocked):
    before = feedmill("run-show", blocked["id"], "--json").document["evidence"]["runs_before"]
    assert [run["id"] for run in before] == [str(run["id"]) for run in mill.runs()[1:]]
    assert [(run["would_expire_count"], run["promotion_seq"]) for run in before] == [(29, None), (1, 2), (0, 1)]


def test_evidence_ends_at_ten_runs(feedmill, mill):
    for number in range(12):
        mill.deliver(*products(range(1, 31)), row(100 + number))
        mill.run(at=after(number))
    mill.deliver(row(1))
    record = mill.run(at=after(13))
    before = api.evidence(record["id"])["runs_before"]
    assert [run["started_at"] for run in before] == [after(number) for number in range(11, 1, -1)]


def test_run_show_tells_people_the_same(feedmill, blocked):
    said = feedmill("run-show", blocked["id"])
    assert said.code == 0
    expected = """
        20 of 30 products on the shelf would go, 66.7%
        would go, most by brand: Cairn 10, Ridgeline 10
        would go, most by category: none 20
        would come, most by brand: Newcomer 2, Cairn 1
        prices that would move most
        x 100.00
        this run and those before it
        promoted
    """
    for words in (*expected.strip().splitlines(), f"feedmill approve {blocked['id']} --by NAME"):
        assert words.strip() in said.out, words


def test_run_show_of_a_promoted_run_has_no_evidence(feedmill, mill):
    mill.deliver(row(1))
    record = mill.run(at=after(1))
    assert feedmill("run-show", record["id"], "--json").document["evidence"] is None


def test_run_show_after_the_decision_keeps_the_figures(feedmill, blocked):
    feedmill("approve", blocked["id"], "--by", "ann", *at(5))
    document = feedmill("run-show", blocked["id"], "--json").document
    assert document["evidence"]["would_expire_count"] == 20
    assert "would_go" not in document["evidence"]
    said = feedmill("run-show", blocked["id"])
    assert "SUCCEEDED, approved by ann (SPIKE_THRESHOLD_EXCEEDED)" in said.out
    assert "--by NAME" not in said.out


@pytest.mark.spec("002 8.7")
def test_approve_prints_the_run(feedmill, mill, blocked):
    said = feedmill("approve", blocked["id"], "--by", "ann", *at(5), "--json")
    assert (said.code, said.err) == (0, "")
    expected = {
        "id": str(blocked["id"]), "status": "SUCCEEDED", "expiry_blocked": True, "expiry_approved_by": "ann",
        "expiry_approved_at": "2026-03-02T17:00:00Z", "promotion_seq": 3, "products_promoted": 13,
    }  # fmt: skip
    assert {name: said.document[name] for name in expected} == expected
    assert len(mill.offers(after(5))) == 33


@pytest.mark.spec("002 8.7")
def test_reject_prints_the_run(feedmill, blocked):
    said = feedmill("reject", blocked["id"], "--by", "bob", "--reason", "cut short", *at(5), "--json")
    assert (said.code, said.err) == (0, "")
    expected = {"expiry_rejected_by": "bob", "expiry_rejected_reason": "cut short", "promotion_seq": None}
    assert {name: said.document[name] for name in expected} == expected
    assert "rejected by bob" in feedmill("run-show", blocked["id"]).out


REFUSED = {
    "a run that does not exist": (["approve", str(new_id()), "--by", "ann"], "RUN_NOT_FOUND", 2),
    "what is no id": (["reject", "latest", "--by", "ann", "--reason", "x"], "RUN_NOT_FOUND", 2),
    "nobody's name": (["approve", "RUN", "--by", " "], "BAD_VALUE", 2),
    "no name": (["approve", "RUN"], "USAGE", 2),
    "no reason": (["reject", "RUN", "--by", "ann"], "USAGE", 2),
    "a moment before the run": (["approve", "RUN", "--by", "ann", *at(1)], "AT_TOO_EARLY", 2),
    "an older run": (["approve", "OLDER", "--by", "ann"], "STALE_RUN", 1),
    "a promoted run": (["approve", "FIRST", "--by", "ann"], "NOT_BLOCKED", 1),
}  # fmt: skip


@pytest.mark.spec("002 8.7")
@pytest.mark.parametrize("arguments, code, exit_code", REFUSED.values(), ids=REFUSED.keys())
def test_refusal_is_one_line_and_changes_nothing(feedmill, mill, blocked, arguments, code, exit_code):
    ids = dict(zip(("RUN", "OLDER", "SECOND", "FIRST"), (str(run["id"]) for run in mill.runs()), strict=True))
    before = mill.written(), mill.runs()
    said = feedmill(*(ids.get(word, word) for word in arguments), "--json")
    assert (said.code, said.document["error"]["code"]) == (exit_code, code)
    assert re.fullmatch(r"feedmill: [^\n]+\n", said.err)
    assert (mill.written(), mill.runs()) == before


@pytest.mark.spec("002 8.7")
def test_busy_feed_is_told_by_its_own_code(feedmill, mill, blocked, database, monkeypatch):
    monkeypatch.setattr(exclusive, "LOCK_SECONDS", 0)
    with engine.open_connection(database) as other:
        other.execute("SELECT pg_advisory_lock(%s)", [mill.lock_id()])
        said = feedmill("approve", blocked["id"], "--by", "ann", "--json")
    assert (said.code, said.document["error"]["code"]) == (75, "FEED_BUSY")
