"""Phase two of a run: what is counted, what blocks, what readers see, and what an error in it does."""

import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from db import engine, ledger
from db.clock import Clock
from tasks import progress
from tasks.catalogue import approval, registry
from tasks.catalogue.shelf.steps import settle
from tasks.exclusive import LockLostError
from tests.mill import after, row
from tests.plain import PlainMill

COUNTS = ("active_count_before", "seen_success_count", "would_expire_count", "products_vanished", "products_expired")
BLOCKED = ("expiry_blocked", "expiry_blocked_reason", "promotion_seq")
BREAKER = ("CIRCUIT_BREAKER_START", "CIRCUIT_BREAKER_PASSED", "CIRCUIT_BREAKER_TRIPPED", "DATA_QUALITY_URL_HASH_SPIKE",
           "PROMOTE_START", "PROMOTE_COMPLETE", "EXPIRY_STEP_FAILED")  # fmt: skip


@pytest.fixture
def drawer(conn, tmp_path, monkeypatch):
    monkeypatch.setenv("FEEDMILL_TEST_CLOCK", "1")
    return PlainMill(conn, tmp_path / "catalog.csv")


@pytest.fixture
def mill(drawer):
    return drawer.put_on_file()


def rows(*numbers, **cells):
    return [row(number, **cells) for number in numbers]


def nameless(number):
    """A row that has no identity but its address."""
    return row(number, item="", sku="")


def break_on(conn, table, *, sqlstate="P0001"):
    """Let the database refuse to insert into a table."""
    conn.execute(f"""
        CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN RAISE EXCEPTION 'not today' USING ERRCODE = '{sqlstate}'; END $$;
        CREATE TRIGGER refuse BEFORE INSERT ON {table} FOR EACH ROW EXECUTE FUNCTION refuse()""")


def mend(conn):
    conn.execute("DROP FUNCTION refuse CASCADE")


def names(mill, record):
    return [event["event_name"] for event in mill.events(*BREAKER) if event["run_id"] == record["id"]]


@pytest.mark.spec("002 8.2", "002 8.8", "002 17.8")
def test_first_file_is_promoted_whatever_its_size(mill):
    mill.deliver(*rows(*range(1, 13)))
    record = mill.run(at=after(1))
    assert mill.counts(record, *COUNTS) == (0, 0, 0, 0, 0)
    assert mill.counts(record, *BLOCKED) == (False, None, 1)
    assert names(mill, record) == [
        "CIRCUIT_BREAKER_START",
        "CIRCUIT_BREAKER_PASSED",
        "PROMOTE_START",
        "PROMOTE_COMPLETE",
    ]
    [start, passed, promote, complete] = mill.events(*BREAKER)
    assert start["fields"] == {"feed_id": mill.feed()["id"], "t0": str(after(1)), "expiry_hours": 48}
    assert passed["fields"] == {
        "would_expire_count": 0, "expire_percent": 0.0, "threshold_percent": 0.3, "threshold_absolute": 500
    }  # fmt: skip
    assert promote["fields"] == {"products_to_promote": 12}
    assert mill.counts(complete["fields"], "promote_rows_updated", "products_expired") == (12, 0)


@pytest.mark.spec("002 8.2", "002 8.8")
@pytest.mark.parametrize("left, blocked", [(20, True), (21, False)], ids=["over thirty percent", "thirty percent"])
def test_spike_blocks_just_over_its_limit(mill, left, blocked):
    mill.deliver(*rows(*range(1, 31)))
    mill.run(at=after(1))
    mill.deliver(*rows(*range(1, left + 1)))
    record = mill.run(at=after(2))
    gone = 30 - left
    assert mill.counts(record, *COUNTS) == (30, left, gone, gone, 0 if blocked else gone)
    reason = "SPIKE_THRESHOLD_EXCEEDED" if blocked else None
    assert mill.counts(record, *BLOCKED) == (blocked, reason, None if blocked else 2)


@pytest.mark.spec("002 8.2", "002 8.3", "002 7.6")
def test_blocked_run_leaves_readers_with_what_they_saw(mill):
    mill.deliver(*rows(*range(1, 31)))
    mill.run(at=after(1))
    shown = mill.offers(after(2))
    mill.deliver(row(1, price="1.00"), row(2, name="Retitled"), row(3, url="https://shop.example/elsewhere"), row(99))
    record = mill.run(at=after(2))
    assert record["expiry_blocked_reason"] == "SPIKE_THRESHOLD_EXCEEDED"
    assert mill.offers(after(2)) == shown
    assert len(shown) == 30
    assert mill.prices(1) == [("10.00", True, "new", True), ("1.00", True, "changed", False)]
    presence = "SELECT last_seen_at, last_seen_success_at FROM source_product_presence ORDER BY source_product_id"
    seen = [tuple(found.values()) for found in mill.conn.execute(presence)]
    assert seen == [(after(2), after(1))] * 3 + [(after(1), after(1))] * 27 + [(after(2), None)]


@pytest.mark.spec("002 17.8", "002 17.13")
def test_blocked_run_tells_its_reasons_in_its_transaction(mill):
    mill.deliver(*rows(*range(1, 31)))
    mill.run(at=after(1))
    mill.deliver(*(nameless(number) for number in range(1, 11)))
    record = mill.run(at=after(2))
    codes = ["SPIKE_THRESHOLD_EXCEEDED", "DATA_QUALITY_URL_HASH_SPIKE"]
    assert [reason["code"] for reason in record["blocked_reasons"]] == codes
    assert record["expiry_blocked_reason"] == codes[0]
    assert names(mill, record) == ["CIRCUIT_BREAKER_START", "CIRCUIT_BREAKER_TRIPPED", "DATA_QUALITY_URL_HASH_SPIKE"]
    tripped, quality = mill.events("CIRCUIT_BREAKER_TRIPPED", "DATA_QUALITY_URL_HASH_SPIKE")
    assert (tripped["level"], tripped["fields"]) == ("WARN", {
        "would_expire_count": 30, "expire_percent": 1.0, "threshold_percent": 0.3, "threshold_absolute": 500,
        "reason": "SPIKE_THRESHOLD_EXCEEDED",
    })  # fmt: skip
    assert mill.counts(quality["fields"], "url_hash_fallback_count", "products_upserted") == (10, 10)


@pytest.mark.spec("002 3.3.2")
@pytest.mark.parametrize("nameless_rows, blocked", [(2, False), (3, True)], ids=["half", "over half"])
def test_url_hash_gate_judges_the_first_file_too(mill, nameless_rows, blocked):
    mill.deliver(*(nameless(number) if number <= nameless_rows else row(number) for number in range(1, 5)))
    record = mill.run(at=after(1))
    reason = "DATA_QUALITY_URL_HASH_SPIKE" if blocked else None
    assert mill.counts(record, *BLOCKED) == (blocked, reason, None if blocked else 1)
    assert len(mill.offers(after(1))) == (0 if blocked else 4)


@pytest.mark.parametrize(
    "gates, blocked",
    [
        pytest.param({"spike": False}, False, id="off"),
        pytest.param({"spike": 0.9}, False, id="a share that allows it"),
        pytest.param({"spike": {"least": 50}}, False, id="too few to count"),
        pytest.param({"spike": {"share": 1.0, "most": 20}}, True, id="as many as may not go"),
        pytest.param({"spike": {"share": 1.0, "most": 21}}, False, id="one fewer than that"),
    ],
)
def test_gates_are_those_of_the_feed(drawer, gates, blocked):
    mill = drawer.put_on_file(gates=gates)
    mill.deliver(*rows(*range(1, 31)))
    mill.run(at=after(1))
    mill.deliver(*rows(*range(1, 11)))
    assert mill.run(at=after(2))["expiry_blocked"] is blocked


@pytest.mark.spec("002 2.7")
def test_new_products_are_no_part_of_the_share(mill):
    """Nine of thirty go, a hundred come: the share is of what was on the shelf."""
    mill.deliver(*rows(*range(1, 31)))
    mill.run(at=after(1))
    mill.deliver(*rows(*range(11, 131)))
    record = mill.run(at=after(2))
    assert mill.counts(record, *COUNTS) == (30, 20, 10, 10, 0)
    assert record["expiry_blocked"]


def test_product_that_returns_is_counted(mill):
    mill.deliver(*rows(1, 2, 3))
    mill.run(at=after(1))
    mill.deliver(*rows(1, 2))
    mill.run(at=after(2))
    mill.deliver(*rows(1, 2, 3, 4))
    record = mill.run(at=after(3))
    assert mill.counts(record, "products_returned", "products_created", "active_count_before") == (1, 1, 2)


def test_blocked_file_counts_as_processed(mill):
    mill.deliver(*rows(*range(1, 31)))
    mill.run(at=after(1))
    mill.deliver(*rows(1))
    assert mill.run(at=after(2))["expiry_blocked"]
    assert mill.run(at=after(3))["skipped_reason"] == "UNCHANGED_MTIME"


def test_blocked_set_folds_what_was_seen_before_it(mill):
    """PRESENCE rules 4 and 10: older sightings leave a time, older waiting changes leave nothing."""
    mill.deliver(*rows(*range(1, 31)))
    mill.run(at=after(1))
    mill.deliver(row(1, name="One"), row(2), row(77))
    first = mill.run(at=after(2))
    mill.deliver(row(1, name="Another"), row(3))
    second = mill.run(at=after(3))
    assert [first["expiry_blocked"], second["expiry_blocked"]] == [True, True]
    assert {sighting["obs_seq"] for sighting in mill.contents("sightings")} == {second["obs_seq"]}
    assert [change["title"] for change in mill.contents("product_changes")] == ["Another"]
    outside = (
        "SELECT identity_value, seen_outside_at FROM source_products WHERE seen_outside_at IS NOT NULL ORDER BY id"
    )
    assert [tuple(found.values()) for found in mill.conn.execute(outside)] == [
        ("item-2", after(2)), ("item-77", after(2))
    ]  # fmt: skip


@pytest.mark.spec("002 8.2")
def test_block_that_outlives_the_window_still_blocks_the_next_bad_file(drawer):
    mill = drawer.put_on_file(expiry_hours=2)
    mill.deliver(*rows(*range(1, 31)))
    mill.run(at=after(1))
    mill.deliver(*rows(1))
    mill.run(at=after(2))
    mill.deliver(*rows(2))
    record = mill.run(at=after(24))
    assert mill.offers(after(24)) == {}
    assert mill.counts(record, "expiry_blocked", "active_count_before") == (True, 30)


@pytest.mark.spec("002 8.2")
@pytest.mark.parametrize("table", ["promotions", "shelf_spans"])
def test_error_in_phase_two_leaves_a_run_that_a_person_may_approve(mill, table):
    mill.deliver(*rows(1, 2, 3))
    mill.run(at=after(1))
    shown, promotions = mill.offers(after(2)), mill.contents("promotions")
    mill.deliver(*rows(1, 2), row(4, name="New"))
    break_on(mill.conn, table)
    heard = Hearing()
    with progress.heard_by(heard):
        record = mill.run(at=after(2))
    assert mill.counts(record, "expiry_step_failed", "error_code", *BLOCKED) == (True, None, False, None, None)
    assert mill.counts(record, "rows_read", "products_created", "prices_written") == (3, 1, 1)
    assert mill.offers(after(2)) == shown
    assert mill.contents("promotions") == promotions
    [event] = mill.events("EXPIRY_STEP_FAILED")
    assert (event["run_id"], event["level"], "not today" in event["fields"]["error"]) == (record["id"], "ERROR", True)
    assert names(mill, record) == ["EXPIRY_STEP_FAILED"]
    assert any("not today" in sentence for sentence in heard.sentences)
    assert mill.counts(mill.jobs()[-1], "status", "error_code") == ("success", None)
    assert mill.feed()["consecutive_failures"] == 0


def test_next_run_heals_an_error_in_phase_two(mill):
    """The same file is read again, and in the end everything is as if nothing had happened."""
    mill.deliver(*rows(1, 2, 3))
    mill.run(at=after(1))
    mill.deliver(row(1, price="5.00"), row(2, name="Retitled"), row(4))
    break_on(mill.conn, "promotions")
    mill.run(at=after(2))
    mend(mill.conn)
    record = mill.run(at=after(3))
    assert mill.counts(record, "skipped_reason", "promotion_seq", "products_vanished") == (None, 2, 1)
    offers = mill.offers(after(3))
    assert {key: str(offer["price"]) for key, offer in offers.items()} == {
        "item-1": "5.00", "item-2": "20.00", "item-3": "30.00", "item-4": "40.00"
    }  # fmt: skip
    assert offers["item-2"]["title"] == "Retitled"
    assert (mill.contents("sightings"), mill.contents("product_changes")) == ([], [])


@pytest.mark.spec("002 9.5")
def test_file_before_an_error_in_phase_two_is_read_when_it_comes_again(mill):
    mill.deliver(*rows(1, 2, 3))
    mill.run(at=after(1))
    mill.deliver(row(1, price="5.00"), *rows(2, 3))
    break_on(mill.conn, "promotions")
    waiting = mill.run(at=after(2))
    mend(mill.conn)
    approval.approve(waiting["id"], registry.Actor("ann", Clock(after(3))))
    mill.deliver(*rows(1, 2, 3))
    assert mill.run(at=after(4))["skipped_reason"] is None
    assert str(mill.offers(after(4))["item-1"]["price"]) == "10.00"


class Hearing(progress.Listener):
    def __init__(self):
        self.sentences = []

    def told(self, sentence):
        self.sentences.append(sentence)


def test_session_lost_in_phase_two_is_no_such_error(mill, database):
    """The run may not write any more: its record stays as it is until the next one closes it."""
    mill.deliver(*rows(1, 2, 3))
    mill.conn.execute("""
        CREATE FUNCTION hang_up() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN PERFORM pg_terminate_backend(pg_backend_pid()); RETURN NEW; END $$;
        CREATE TRIGGER hang_up BEFORE INSERT ON promotions FOR EACH ROW EXECUTE FUNCTION hang_up()""")
    heard = Hearing()
    with progress.heard_by(heard), pytest.raises(LockLostError):
        mill.run(at=after(1))
    assert heard.sentences == []
    assert mill.counts(mill.newest_run(), "status", "expiry_step_failed") == ("RUNNING", False)
    mill.conn.execute("DROP FUNCTION hang_up CASCADE")
    mill.run(at=after(2))
    assert mill.counts(mill.runs()[1], "status", "error_code") == ("FAILED", "WORKER_LOST")


def test_edit_of_the_feed_and_the_end_of_a_run_take_their_locks_in_one_order(mill, database):
    """Whoever comes second waits for the schedule, holding nothing that the first one needs: no deadlock."""
    mill.deliver(*rows(1, 2, 3))
    with (
        mill.loaded(at=after(1)) as (run, seen),
        engine.open_connection(database) as editor,
        ThreadPoolExecutor(1) as pool,
    ):
        with editor.transaction():
            ledger.lock_schedule(editor, "catalogue", mill.key)
            settling = pool.submit(settle.fn, run, seen)
            until(lambda: mill.conn.execute(WAITING, [run.conn.info.backend_pid]).fetchall())
            editor.execute("UPDATE feed_settings SET config_version = config_version")
            editor.execute("UPDATE sources SET updated_at = updated_at")
        settling.result(60)
    assert mill.counts(mill.newest_run(), "promotion_seq", "expiry_step_failed") == (1, False)


WAITING = "SELECT FROM pg_stat_activity WHERE pid = %s AND wait_event_type = 'Lock'"


def until(condition):
    deadline = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < deadline


@pytest.mark.spec("002 7.4")
def test_run_stopped_after_its_file_was_written_keeps_the_figures_of_the_file(mill):
    mill.deliver(row(1), row(2), row(2), row(3, price="free"))
    with pytest.raises(KeyboardInterrupt), mill.loaded(at=after(1)):
        raise KeyboardInterrupt
    record = mill.newest_run()
    assert mill.counts(record, "status", "error_code", "is_partial") == ("FAILED", "CANCELED_BY_OPERATOR", True)
    read = mill.counts(record, "rows_read", "products_upserted", "products_rejected", "duplicate_key_count")
    assert read == (4, 2, 1, 1)
    assert record["rejected_by_code"] == {"INVALID_PRICE": 1}
