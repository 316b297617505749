"""`feedmill plan`, `diff`, `cleanup` and the refusals of `replay`, as one gets them in a shell."""

import csv
import io
import json
from dataclasses import dataclass

import pytest

from db.clock import Clock, iso
from db.ids import new_id
from feedmill import cli, contract
from tasks.catalogue import approval
from tasks.catalogue.registry import Actor
from tests.mill import after, row
from tests.plain import PlainMill

RUN_FIGURES = """
    rows_read products_upserted products_created products_changed products_unchanged products_rejected rejected_by_code
    duplicate_key_count url_hash_fallback_count prices_written active_count_before seen_success_count
    would_expire_count products_vanished products_returned expiry_blocked expiry_blocked_reason blocked_reasons
"""


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
    monkeypatch.setenv("FEEDMILL_ARCHIVE_URL", (tmp_path / "archive").as_uri())
    return PlainMill(conn, tmp_path / "catalog.csv").put_on_file()


@pytest.fixture
def three_days(mill):
    """Runs of 1 to 5; then 2 dearer, 3 sold out, 4 renamed, 5 gone, 6 new; then 5 back and 2 as before."""
    mill.deliver(*rows(1, 2, 3, 4, 5))
    first = mill.run(at=after(1))
    mill.deliver(row(1), row(2, price="25.00"), row(3, stock="N"), row(4, name="=HYPERLINK(1)"), row(6))
    second = mill.run(at=after(2))
    mill.deliver(row(1), row(2), row(3, stock="N"), row(4, name="=HYPERLINK(1)"), row(5), row(6))
    return first, second, mill.run(at=after(3))


def rows(*numbers, **cells):
    return [row(number, **cells) for number in numbers]


def at(hours):
    return ("--at", iso(after(hours)))


def test_plan_tells_machines_what_a_run_would_do(feedmill, mill):
    mill.deliver(row(1), row(2), row(2), row(3, price="free"))
    said = feedmill("plan", mill.key, *at(1), "--json")
    assert (said.code, said.err) == (0, "")
    document = said.document
    assert set(RUN_FIGURES.split()) <= set(document)
    counts = ("rows_read", "products_created", "duplicate_key_count", "products_entering", "promotion_seq")
    assert [document[name] for name in counts] == [4, 2, 1, 2, None]
    assert document["rejected_by_code"] == {"INVALID_PRICE": 1}
    assert document["planned_at"] == "2026-03-02T13:00:00Z"
    assert (len(document["digest"]), document["is_busy"], document["would_skip"]) == (64, False, None)
    assert mill.runs() == []


def test_plan_of_a_run_that_would_be_blocked_is_done_and_says_why(feedmill, mill):
    mill.deliver(*rows(*range(1, 31)))
    mill.run(at=after(1))
    mill.deliver(row(1, price="12.00"), row(2, price="200.00"), row(3, name="Tarp"))
    said = feedmill("plan", mill.key, *at(2))
    assert (said.code, said.err) == (0, "")
    for words in (
        "would wait for a person",
        "gate: SPIKE_THRESHOLD_EXCEEDED (would expire count 27, active count before 30, expire percent 90.00%",
        "30 on it, 27 would go, 0 would come",
        "2 up, 0 down",
        "x 10.00",
        "+10% to +20%",
        "Tarp",
        f"go ahead with: feedmill run {mill.key} --plan ",
    ):
        assert words in said.out, words


def test_plan_says_if_the_file_is_the_last_one_and_if_the_feed_is_busy(feedmill, mill):
    mill.deliver(row(1))
    mill.run(at=after(1))
    assert "a run without the plan skips it" in feedmill("plan", mill.key).out
    with pytest.raises(KeyboardInterrupt), mill.begun(at=after(2)):
        assert "is under way" in feedmill("plan", mill.key).out
        raise KeyboardInterrupt


def test_plan_of_a_feed_that_never_ran_needs_no_permission_to_run(feedmill, conn, mill):
    draft = PlainMill(conn, mill.path, "draft").put_on_file(status="DRAFT")
    draft.deliver(row(1))
    assert feedmill("plan", draft.key).code == 0


def test_plan_refuses_what_it_cannot_read(feedmill, mill):
    said = feedmill("plan", mill.key, "--json")
    assert (said.code, said.document["error"]["code"]) == (1, "FILE_NOT_FOUND")
    assert feedmill("plan", "nobody").code == 2


def test_hints_name_the_feed(feedmill, mill):
    shown = f"feedmill feeds show {mill.key}"
    said = feedmill("plan", mill.key, "--json")
    assert shown in said.document["error"]["hint"]
    assert shown in said.err
    said = feedmill("run", mill.key, "--plan", "latest", "--json")
    assert said.document["error"]["hint"].endswith(f"feedmill plan {mill.key}")
    with pytest.raises(KeyboardInterrupt), mill.begun(at=after(2)):
        assert f"feedmill request {mill.key})" in feedmill("run", mill.key).err
        raise KeyboardInterrupt


def changes(document):
    return {found["identity_value"]: found["change"] for found in document["products"]}


def test_diff_tells_what_a_run_changed(feedmill, three_days):
    first, second, third = three_days
    document = feedmill("diff", first["id"], "--json").document
    assert changes(document) == {f"item-{number}": "entered" for number in range(1, 6)}
    document = feedmill("diff", second["id"], "--json").document
    assert changes(document) == {
        "item-2": "changed", "item-3": "changed", "item-4": "changed", "item-5": "left", "item-6": "entered",
    }  # fmt: skip
    assert document["counts"] == {
        "entered": 1, "returned": 0, "left": 1, "changed": 3,
        "prices_changed": 1, "stock_changed": 1, "attributes_changed": 1,
    }  # fmt: skip
    [dearer] = [found for found in document["products"] if found["identity_value"] == "item-2"]
    assert (dearer["price_before"], dearer["price_after"]) == ("20.00", "25.00")
    assert changes(feedmill("diff", third["id"], "--json").document) == {"item-2": "changed", "item-5": "returned"}


def test_diff_tells_what_lies_between_two_runs_both_ways(feedmill, three_days):
    first, _, third = three_days
    document = feedmill("diff", first["id"], third["id"], "--json").document
    assert changes(document) == {"item-3": "changed", "item-4": "changed", "item-6": "entered"}
    assert document["run_before"] == str(first["id"])
    back = feedmill("diff", third["id"], first["id"], "--json").document
    assert changes(back) == {"item-3": "changed", "item-4": "changed", "item-6": "left"}


def test_diff_says_what_it_cannot_tell(feedmill, mill):
    records = []
    for hour, name in enumerate(["Tent", "Tarp", "Bivouac"], start=1):
        mill.deliver(row(1, name=name))
        records.append(mill.run(at=after(hour)))
    document = feedmill("diff", records[1]["id"], "--json").document
    assert document["products"] == []
    assert "is not kept" in document["not_told"][0]
    assert "later runs have changed them again" in document["not_told"][1]
    assert len(feedmill("diff", records[2]["id"], "--json").document["not_told"]) == 1


def test_diff_as_csv_is_safe_in_a_spreadsheet(feedmill, three_days):
    said = feedmill("diff", three_days[1]["id"], "--csv")
    found = {line["identity_value"]: line for line in csv.DictReader(io.StringIO(said.out))}
    assert found["item-4"]["title"] == "'=HYPERLINK(1)"
    assert (found["item-2"]["price_before"], found["item-2"]["price_after"]) == ("20.00", "25.00")
    assert (found["item-5"]["change"], found["item-5"]["price_after"]) == ("left", "")


def test_diff_as_a_table_shows_the_first_products_and_counts_the_rest(feedmill, three_days):
    said = feedmill("diff", three_days[1]["id"], "--limit", "2")
    assert said.code == 0
    for words in ("item-2", "20.00 USD", "25.00 USD", "sold out", "3 more; all of them with --csv or --json", "1 -> 2"):
        assert words in said.out, words
    assert "item-6" not in said.out


def test_diff_of_a_run_that_never_reached_the_shelf_is_nothing(feedmill, mill):
    mill.deliver(*rows(*range(1, 31)))
    first = mill.run(at=after(1))
    mill.deliver(row(1, price="11.00"))
    blocked = mill.run(at=after(2))
    said = feedmill("diff", blocked["id"], "--json")
    assert (said.code, said.document["is_promoted"], said.document["products"]) == (0, False, [])
    assert "never reached the shelf" in feedmill("diff", blocked["id"]).out
    refused = feedmill("diff", first["id"], blocked["id"], "--json")
    assert (refused.code, refused.document["error"]["code"]) == (1, "NOT_PROMOTED")
    approval.approve(blocked["id"], Actor("ann", Clock(after(3))))
    assert feedmill("diff", blocked["id"], "--json").document["counts"]["left"] == 29


def test_diff_refuses_runs_of_two_feeds_and_runs_that_do_not_exist(feedmill, mill):
    mill.deliver(row(1))
    one, other = mill.run(at=after(1)), mill.another("other").run(at=after(1))
    assert feedmill("diff", one["id"], other["id"], "--json").document["error"]["code"] == "TWO_FEEDS"
    assert feedmill("diff", new_id()).code == 2
    assert feedmill("diff", "yesterday").code == 2


def test_replay_refuses_before_anything_starts(feedmill, mill):
    mill.deliver(row(1))
    mill.run(at=after(1))
    skipped = mill.run(at=after(2))
    said = feedmill("replay", skipped["id"], "--json")
    assert (said.code, said.document["error"]["code"]) == (1, "NOTHING_ARCHIVED")
    for copy in (mill.path.parent / "archive").rglob("*"):
        if copy.is_file():
            copy.unlink()
    said = feedmill("replay", mill.runs()[1]["id"], "--json")
    assert (said.code, said.document["error"]["code"]) == (1, "ARCHIVE_GONE")
    assert feedmill("replay", new_id()).code == 2
    assert feedmill("replay", "yesterday").code == 2
    assert len(mill.runs()) == 2


def test_run_refuses_what_no_plan_has_as_digest(feedmill, mill):
    said = feedmill("run", mill.key, "--plan", "latest", "--json")
    assert (said.code, said.document["error"]["code"]) == (2, "BAD_DIGEST")


def test_cleanup_sweeps_the_archive(feedmill, mill):
    mill.deliver(row(1))
    mill.run(at=after(1))
    said = feedmill("cleanup", *at(24 * 20), "--json")
    assert (said.code, said.document) == (0, {"archive": {"removed": 0, "kept": 1}})
    far = "2027-03-01T00:00:00Z"
    assert "1 files removed, 0 kept" in feedmill("cleanup", "--at", far).out
