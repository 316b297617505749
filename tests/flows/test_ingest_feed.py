"""One run of one feed, from its file to the shelf: what is written, what is shown, and how it ends."""

import gzip
import logging
import signal
import socket
import threading
import time
from contextlib import contextmanager, suppress

import psycopg
import pytest
from prefect import get_client
from prefect.concurrency.sync import concurrency
from prefect.exceptions import TerminationSignal
from psycopg.rows import dict_row

from db import engine
from db.clock import Clock
from db.errors import BadRequestError, BusyError
from feedmill import reading
from feedmill.sftp_server import LocalSftpServer, ReadOnlyFiles
from tasks import exclusive, progress
from tasks.catalogue import load, registry, steps
from tasks.catalogue.parse import EmptyFileError
from tasks.errors import IngestError
from tasks.exclusive import LockLostError
from tasks.run import Start
from tests import builders
from tests.mill import START, after, csv_text, deliver, row, touch

PASSWORD = "correct: horse@battery"
FIGURES = ("rows_read", "products_created", "products_changed", "products_unchanged", "products_vanished")
LAST_FILE = ("last_remote_mtime", "last_remote_size", "last_content_hash")


class Hearing(progress.Listener):
    """Calls something the first time that a thing is reported, and keeps what it is told."""

    def __init__(self, what=None, act=lambda: None):
        self.what = what
        self.act = act
        self.sentences = []

    def progressed(self, what, done, total):
        if what == self.what:
            self.what = None
            self.act()

    def told(self, sentence):
        self.sentences.append(sentence)


@contextmanager
def sftp(root, served=ReadOnlyFiles):
    server = LocalSftpServer(root, username="feeds", password=PASSWORD)
    server.files = served
    with server:
        yield server


@pytest.fixture
def two_per_batch(monkeypatch):
    """Files of a few rows have several batches."""
    monkeypatch.setitem(load.batches.__kwdefaults__, "size", 2)


def break_on(conn, table, *, when="true", sqlstate="P0001", times=1_000):
    """Let the database refuse to insert into a table, this many times."""
    conn.execute("CREATE SEQUENCE refusals")  # counts on through a rollback
    conn.execute(f"""
        CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN
            IF nextval('refusals') <= {times} THEN RAISE EXCEPTION 'not today' USING ERRCODE = '{sqlstate}'; END IF;
            RETURN NEW;
        END $$""")
    conn.execute(f"CREATE TRIGGER refuse BEFORE INSERT ON {table} FOR EACH ROW WHEN ({when}) EXECUTE FUNCTION refuse()")


def mend(conn, table):
    conn.execute(f"DROP TRIGGER refuse ON {table}")


def three(**changes):
    """Three rows, some of them changed: `three(r2={"price": "5"})`."""
    return [row(number, **changes.get(f"r{number}", {})) for number in (1, 2, 3)]


def seen_values(offers):
    """What a shopper sees of each offer, without ids."""
    return {key: {name: offer[name] for name in offer if name != "source_product_id"} for key, offer in offers.items()}


def test_first_file_is_written_and_shown(mill):
    mill.deliver(row(1, price="15.99", original="18.99"), row(2, stock="N"), row(3, item="", sku="s-3"))
    record = mill.run(at=after(1))
    assert mill.counts(record, *FIGURES) == (3, 3, 0, 0, 0)
    assert mill.counts(record, "products_upserted", "prices_written", "products_rejected") == (3, 3, 0)
    assert mill.counts(record, "active_count_before", "promotion_seq", "is_partial") == (0, 1, False)
    assert (record["download_bytes"], record["trigger"]) == (mill.path.stat().st_size, "MANUAL")
    offers = mill.offers(after(1))
    assert set(offers) == {"item-1", "item-2", "s-3"}
    expected = {
        "retailer": "Shop of northfork", "identity_type": "IMPACT_ITEM_ID", "sku": "sku-1", "upc": "020892215501",
        "title": "Tent 1", "brand": "Cairn", "url": "https://shop.example/tent/1", "currency": "USD",
        "in_stock": True, "last_seen_at": after(1), "last_seen_success_at": after(1), "priced_at": after(1),
    }  # fmt: skip
    assert {name: offers["item-1"][name] for name in expected} == expected
    assert (str(offers["item-1"]["price"]), str(offers["item-1"]["original_price"])) == ("15.99", "18.99")
    assert (offers["item-2"]["in_stock"], offers["s-3"]["identity_type"]) == (False, "SKU")


def test_second_file_writes_what_changed(mill):
    mill.deliver(*[row(number) for number in range(1, 7)])
    mill.run(at=after(1))
    mill.deliver(row(1, price="9.99"), row(2), row(4, stock="N"), row(5, name="Retitled"), row(6), row(7))
    record = mill.run(at=after(2))
    assert mill.counts(record, *FIGURES) == (6, 1, 1, 4, 1)
    assert mill.counts(record, "prices_written", "active_count_before", "seen_success_count") == (3, 6, 5)
    assert mill.counts(record, "would_expire_count", "products_expired", "products_returned") == (1, 1, 0)
    assert mill.prices(1) == [("10.00", True, "new", True), ("9.99", True, "changed", True)]
    assert mill.prices(2) == [("20.00", True, "new", True)]
    assert mill.prices(4) == [("40.00", True, "new", True), ("40.00", False, "changed", True)]
    offers = mill.offers(after(2))
    assert set(offers) == {f"item-{number}" for number in range(1, 8)}  # 3 has vanished and not yet expired
    assert (str(offers["item-1"]["price"]), offers["item-5"]["title"]) == ("9.99", "Retitled")
    assert (offers["item-4"]["in_stock"], offers["item-3"]["last_seen_success_at"]) == (False, after(1))


def test_feed_over_sftp_is_fetched_loaded_and_skipped(drawer, tmp_path):
    """The whole way: a password from the database, a pinned key, gzip; the time of the file decides at first."""
    root = tmp_path / "sftp"
    root.mkdir()
    file = root / "catalog.csv.gz"
    with sftp(root) as server:
        key = server.host_key_fingerprint
        mill = drawer.put_on_file(server.url("catalog.csv.gz"), password=PASSWORD, host_key_fingerprint=key)
        deliver(file, gzip.compress(csv_text(three()).encode()))
        first = mill.run(at=after(1))
        assert mill.counts(first, "rows_read", "prices_written", "skipped_reason") == (3, 3, None)
        assert first["detected"]["compression"] == "GZIP"
        assert mill.run(at=after(2))["skipped_reason"] == "UNCHANGED_MTIME"
        deliver(file, gzip.compress(csv_text(three(r2={"price": "1.00"})).encode()))
        assert mill.counts(mill.run(at=after(3)), "rows_read", "prices_written") == (3, 1)
    assert [run["status"] for run in mill.runs()] == ["SUCCEEDED"] * 3


@pytest.mark.spec("002 9.6")
@pytest.mark.parametrize(
    "change, reason",
    [
        pytest.param(lambda path: None, "UNCHANGED_MTIME", id="same file"),
        pytest.param(touch, "UNCHANGED_HASH", id="touched, the same bytes"),
    ],
)
def test_same_file_twice_writes_nothing_but_its_record(mill, change, reason):
    mill.deliver(*three())
    mill.run(at=after(1))
    mill.conn.execute("UPDATE schedules SET consecutive_failures = 2")
    before, offers, feed = mill.written(), mill.offers(after(30)), mill.feed()
    change(mill.path)
    record = mill.run(at=after(30))  # a heartbeat would be due
    assert (record["status"], record["skipped_reason"], record["promotion_seq"]) == ("SUCCEEDED", reason, None)
    assert record["download_bytes"] == (None if reason == "UNCHANGED_MTIME" else mill.path.stat().st_size)
    assert mill.written() == before
    assert mill.offers(after(30)) == offers
    now = mill.feed()
    assert (now["obs_seq"], now["last_content_hash"]) == (feed["obs_seq"], feed["last_content_hash"])
    assert (now["consecutive_failures"], now["last_run_at"], now["status"]) == (0, after(30), "ENABLED")
    assert mill.jobs()[-1]["status"] == "success"


def test_skipped_runs_let_the_offers_age(mill):
    mill.deliver(*three())
    mill.run(at=after(1))
    mill.run(at=after(40))
    assert len(mill.offers(after(49))) == 3
    assert mill.offers(after(49.01)) == {}


def test_force_reads_the_same_file_again(mill):
    mill.deliver(*three())
    mill.run(at=after(1))
    record = mill.run(at=after(2), force=True)
    assert mill.counts(record, *FIGURES) == (3, 0, 0, 3, 0)
    assert mill.counts(record, "skipped_reason", "prices_written", "promotion_seq") == (None, 0, 2)
    assert mill.offers(after(2))["item-1"]["last_seen_success_at"] == after(2)


@pytest.mark.spec("002 4.2")
@pytest.mark.parametrize("hours, written", [(24, (0, 3)), (0, (0, 0))], ids=["a day", "never"])
def test_heartbeat_repeats_a_price_when_it_is_due(drawer, hours, written):
    mill = drawer.put_on_file(heartbeat_hours=hours)
    mill.deliver(*three())
    mill.run(at=after(1))
    records = [mill.run(at=after(hour), force=True) for hour in (24.99, 25)]
    assert tuple(record["prices_written"] for record in records) == written
    assert [reason for *_, reason, _ in mill.prices(1)] == ["new", "heartbeat"][: 1 + bool(hours)]


def test_file_is_read_again_if_the_feed_was_edited_during_the_run(mill):
    """What is remembered of the last file counts only for the settings that it was read with."""

    def edit():
        with engine.connect() as conn:
            registry.change_feed(conn, mill.key, {"expiry_hours": 72}, registry.Actor("test", Clock(after(1))))

    mill.deliver(*three())
    with progress.heard_by(Hearing("writing", edit)):
        mill.run(at=after(1))
    assert mill.counts(mill.feed(), *LAST_FILE) == (None, None, None)
    assert mill.run(at=after(2))["skipped_reason"] is None


def test_gone_product_stays_an_offer_until_it_expires(mill, two_per_batch):
    """With what its last promotion knew: neither a failed run's price nor its title shows."""
    mill.deliver(*three())
    mill.run(at=after(1))
    mill.deliver(row(1, price="5.00"), row(3))
    assert mill.run(at=after(2))["products_vanished"] == 1
    mill.deliver(row(2, price="1.00", name="Never shown"), row(1), row(3))
    break_on(mill.conn, "sightings", when="NEW.batch_no = 2")
    mill.fail(at=after(3))
    for hour in (3, 24, 49):
        offer = mill.offers(after(hour))["item-2"]
        assert (str(offer["price"]), offer["title"], offer["last_seen_success_at"]) == ("20.00", "Tent 2", after(1))
    assert set(mill.offers(after(49.01))) == {"item-1", "item-3"}
    assert mill.prices(2) == [("20.00", True, "new", True), ("1.00", True, "changed", False)]


def test_product_that_returns_is_the_same_product(mill):
    mill.deliver(*three())
    mill.run(at=after(1))
    before = mill.offers(after(1))["item-2"]["source_product_id"]
    mill.deliver(row(1), row(3))
    mill.run(at=after(2))
    assert "item-2" not in mill.offers(after(50))
    mill.deliver(*three(r2={"price": "15.00"}))
    record = mill.run(at=after(51))
    assert mill.counts(record, "products_created", "products_returned", "products_vanished") == (0, 1, 0)
    offer = mill.offers(after(51))["item-2"]
    assert (offer["source_product_id"], str(offer["price"])) == (before, "15.00")
    assert [price for price, *_ in mill.prices(2)] == ["20.00", "15.00"]
    assert "item-2" not in mill.offers(after(50))  # the past does not change


@pytest.mark.spec("002 7.5")
def test_duplicates_are_counted_sampled_and_the_last_one_wins(mill, two_per_batch):
    mill.deliver(row(1, price="1.00"), row(2), row(3), row(1, price="2.00"), row(1, price="3.00"))
    record = mill.run(at=after(1))
    assert mill.counts(record, "rows_read", "products_upserted", "duplicate_key_count") == (5, 3, 2)
    assert [price for price, *_ in mill.prices(1)] == ["3.00"]
    assert [(error["code"], error["row_number"]) for error in reading.errors(record["id"])] == [
        ("DUPLICATE_ROW_SAME_IDENTITY", 2),
        ("DUPLICATE_ROW_SAME_IDENTITY", 5),
    ]
    assert mill.feed()["consecutive_failures"] == 0


def test_rejected_rows_are_counted_and_sampled(mill):
    mill.deliver(row(1), row(2, name=""), row(3, price="free"), row(4, price="-1"))
    record = mill.run(at=after(1))
    assert mill.counts(record, "rows_read", "rows_parsed", "products_rejected", "error_count") == (4, 1, 3, 3)
    assert record["rejected_by_code"] == {"MISSING_TITLE": 1, "INVALID_PRICE": 2}
    errors = reading.errors(record["id"])
    assert [(error["code"], error["row_number"]) for error in errors] == [
        ("INVALID_PRICE", 4),
        ("INVALID_PRICE", 5),
        ("MISSING_TITLE", 3),
    ]
    assert "Tent 3" in errors[0]["raw_row"]


def test_rejected_row_of_a_known_product_counts_as_not_seen(mill):
    mill.deliver(*three())
    mill.run(at=after(1))
    mill.deliver(*three(r2={"price": "n/a"}))
    assert mill.counts(mill.run(at=after(2)), *FIGURES) == (3, 0, 0, 2, 1)


def _missing(path):
    path.unlink()


FAILING = {
    "missing": (_missing, "FILE_NOT_FOUND"),
    "empty": (b"", "EMPTY_FILE"),
    "header only": (csv_text([]), "EMPTY_FILE"),
    "binary": (bytes(range(256)) * 20, "PARSE_ERROR"),
    "no usable row": (csv_text([row(1, price="free"), row(2, name="")]), "NO_USABLE_ROWS"),
    "missing columns": ("SKU,Colour\n1,red\n", "MISSING_COLUMNS"),
    "damaged gzip": (gzip.compress(b"x,y\n1,2\n")[:-8] + bytes(8), "FILE_DAMAGED"),
    "too many rows": (csv_text([row(number) for number in range(1, 12)]), "ROW_COUNT_LIMIT_EXCEEDED"),
    "too many products": (csv_text([row(number) for number in range(1, 11)]), "UNIQUE_PRODUCT_LIMIT_EXCEEDED"),
    "too many bytes": (csv_text([row(1, name="x" * 6_000)]), "FILE_SIZE_LIMIT_EXCEEDED"),
    "too many bytes in gzip": (
        gzip.compress(csv_text([row(1, name="x" * 120_000)]).encode()),
        "FILE_SIZE_LIMIT_EXCEEDED",
    ),
}


@pytest.mark.spec("002 7.3.1")
@pytest.mark.parametrize("content, code", FAILING.values(), ids=FAILING.keys())
def test_failing_file_changes_nothing(drawer, content, code):
    mill = drawer.put_on_file(max_row_count=10, max_product_count=9, max_file_size_bytes=6_000)
    mill.deliver(*three())
    original = mill.path.read_bytes()
    mill.run(at=after(1))
    before, offers = mill.written(), mill.offers(after(2))
    if callable(content):
        content(mill.path)
    else:
        deliver(mill.path, content)
    hearing = Hearing()
    with progress.heard_by(hearing):
        record = mill.fail(at=after(2), kind=IngestError)
    assert mill.counts(record, "status", "error_code", "error_class") == ("FAILED", code, "permanent")
    assert mill.counts(record, "is_partial", "finished_at") == (False, after(2))
    assert "\n" not in record["error_message"]
    assert hearing.sentences == []  # not tried again
    assert mill.written() == before
    assert mill.offers(after(2)) == offers
    assert mill.counts(mill.feed(), *LAST_FILE, "consecutive_failures") == (None, None, None, 1)
    deliver(mill.path, original)
    assert mill.run(at=after(3))["skipped_reason"] is None


def test_broken_rows_are_rejected_and_the_others_taken(mill):
    ragged, open_quote = "one,cell,and,another", 'i-9,"Tent'
    deliver(mill.path, csv_text(three()) + f"{ragged}\n{open_quote}\n")
    record = mill.run(at=after(1))
    assert mill.counts(record, "status", "rows_read", "products_upserted", "products_rejected") == (
        "SUCCEEDED",
        5,
        3,
        2,
    )
    assert record["rejected_by_code"] == {"MALFORMED_QUOTES": 1, "RAGGED_ROW": 1}
    samples = mill.conn.execute("SELECT code, row_number, raw_row FROM affiliate_feed_run_errors ORDER BY row_number")
    assert [tuple(sample.values()) for sample in samples] == [
        ("RAGGED_ROW", 5, ragged),
        ("MALFORMED_QUOTES", 6, open_quote),
    ]


@pytest.mark.spec("002 3.3")
def test_better_identity_makes_a_new_product_and_is_told(mill):
    mill.deliver(row(1, item=""), row(2, item="", sku=""), row(3))
    assert mill.run(at=after(1))["url_hash_fallback_count"] == 1
    mill.deliver(row(1), row(2, item=""), row(3))
    record = mill.run(at=after(2))
    assert mill.counts(record, "products_created", "products_unchanged", "url_hash_fallback_count") == (2, 1, 0)
    told = mill.conn.execute(
        "SELECT event_name, fields FROM audit_events WHERE event_name IN"
        " ('IDENTITY_UPGRADE_DETECTED', 'URL_HASH_FALLBACK') ORDER BY id"
    ).fetchall()  # fmt: skip - one statement
    assert [(event["event_name"], event["fields"]["count"]) for event in told] == [
        ("URL_HASH_FALLBACK", 1),
        ("IDENTITY_UPGRADE_DETECTED", 2),
    ]
    samples = mill.conn.execute("SELECT code, row_number FROM affiliate_feed_run_errors ORDER BY row_number").fetchall()
    assert [tuple(sample.values()) for sample in samples] == [
        ("IDENTITY_UPGRADE_DETECTED", 2),
        ("IDENTITY_UPGRADE_DETECTED", 3),
    ]
    kinds = mill.conn.execute("SELECT identity_type FROM source_products ORDER BY id").fetchall()
    assert [product["identity_type"] for product in kinds] == [
        "SKU", "URL_HASH", "IMPACT_ITEM_ID", "IMPACT_ITEM_ID", "SKU"]  # fmt: skip


def test_file_that_ends_early_may_still_be_uploading(mill):
    deliver(mill.path, gzip.compress(csv_text(three()).encode())[:-20])
    hearing = Hearing()
    with progress.heard_by(hearing):
        record = mill.fail(at=after(1))
    assert mill.counts(record, "error_code", "error_class") == ("FILE_STILL_UPLOADING", "transient")
    assert len(hearing.sentences) == 2


@pytest.mark.spec("002 7.4")
@pytest.mark.parametrize(
    "table, when, is_partial",
    [
        pytest.param("sightings", "NEW.batch_no = 1", False, id="in the first batch"),
        pytest.param("sightings", "NEW.batch_no = 2", True, id="in the second batch"),
        pytest.param("affiliate_feed_run_errors", "true", True, id="after the last batch"),
    ],
)
def test_failure_half_way_shows_nothing_and_the_next_run_converges(mill, two_per_batch, table, when, is_partial):
    control = mill.another("control")
    mill.deliver(*[row(number) for number in range(1, 6)])
    mill.run(at=after(1))
    control.run(at=after(1))
    offers, promotions = mill.offers(after(2)), mill.contents("promotions")
    mill.deliver(row(6), row(1, price="5.00"), row(2, name="Retitled"), row(3, stock="N"), row(4), row(9, name=""))
    break_on(mill.conn, table, when=when)
    record = mill.fail(at=after(2))
    assert mill.counts(record, "status", "error_code", "is_partial") == ("FAILED", "STATEMENT_REFUSED", is_partial)
    assert mill.offers(after(2)) == offers
    assert mill.contents("promotions") == promotions
    assert mill.one("SELECT title FROM source_products WHERE source_id = 1 AND sku = 'sku-2'")["title"] == "Tent 2"
    mend(mill.conn, table)
    mill.run(at=after(3))
    control.run(at=after(3))
    assert state(mill) == state(control)


@pytest.mark.spec("002 7.4")
def test_partial_run_tells_how_far_it_came(mill, two_per_batch):
    mill.deliver(*three(), row(4))
    break_on(mill.conn, "sightings", when="NEW.batch_no = 2")
    record = mill.fail(at=after(1))
    assert mill.counts(record, "products_created", "products_upserted", "prices_written") == (2, 2, 2)
    assert record["rows_parsed"] is not None


def state(mill):
    """Products, presence, prices and offers of a feed: values and order, without ids, runs and times of prices."""
    products = """
        SELECT p.identity_type, p.identity_value, p.title, p.url, p.upc, p.brand, p.fingerprint, p.seen_outside_at,
               presence.last_seen_at, presence.last_seen_success_at,
               (SELECT array_agg((price.price_amount, price.currency, price.in_stock)::text ORDER BY price.obs_seq)
                  FROM prices price WHERE price.source_product_id = p.id) AS prices,
               (SELECT array_agg((from_seq, to_seq)::text ORDER BY from_seq)
                  FROM shelf_spans span WHERE span.product_id = p.id) AS spans
          FROM source_products p
          JOIN source_product_presence presence ON presence.source_product_id = p.id
          JOIN affiliate_feeds feed ON feed.source_id = p.source_id
         WHERE feed.feed_key = %s
         ORDER BY p.identity_type, p.identity_value"""
    waiting = "SELECT count(*) AS n FROM {} JOIN affiliate_feeds USING (source_id) WHERE feed_key = %s"
    hidden = {"source_product_id", "feed_key", "retailer", "priced_at"}
    offers = [
        {name: value for name, value in offer.items() if name not in hidden} for offer in mill.offers(after(3)).values()
    ]
    return (
        mill.conn.execute(products, [mill.key]).fetchall(),
        sorted(offers, key=lambda offer: offer["identity_value"]),
        [mill.one(waiting.format(table), mill.key)["n"] for table in ("sightings", "product_changes")],
    )


def test_transient_failure_of_the_database_is_tried_again_within_the_run(mill, two_per_batch):
    """The figures are the run's, not an attempt's: what the first attempt wrote counts once."""
    control = mill.another("control")
    mill.deliver(*[row(number) for number in range(1, 6)])
    break_on(mill.conn, "sightings", when="NEW.batch_no = 2", sqlstate="40001", times=1)
    hearing = Hearing()
    with progress.heard_by(hearing):
        record = mill.run(at=after(3))
    assert len(hearing.sentences) == 1
    assert mill.counts(record, *FIGURES, "products_upserted", "prices_written") == (5, 5, 0, 0, 0, 5, 5)
    control.run(at=after(3))
    assert state(mill) == state(control)


@pytest.mark.parametrize("times, failed", [(2, False), (3, True)], ids=["and passes", "and is given up"])
def test_transient_failure_of_phase_two_is_tried_again_within_the_run(mill, times, failed):
    mill.deliver(*three())
    break_on(mill.conn, "promotions", sqlstate="40001", times=times)
    hearing = Hearing()
    with progress.heard_by(hearing):
        record = mill.run(at=after(1))
    assert mill.counts(record, "expiry_step_failed", "promotion_seq") == (failed, None if failed else 1)
    assert sum("trying again" in sentence for sentence in hearing.sentences) == 2


@pytest.mark.spec("002 11.1")
def test_third_failure_in_a_row_disables_the_feed(mill):
    for hour, status in ((1, "ENABLED"), (2, "ENABLED"), (3, "DISABLED")):
        mill.fail(at=after(hour))
        assert mill.counts(mill.feed(), "consecutive_failures", "status") == (hour, status)
    [event] = mill.events("FEED_AUTO_DISABLED")
    assert mill.counts(event, "level", "occurred_at") == ("WARN", after(3))
    assert event["fields"]["consecutive_failures"] == 3
    mill.deliver(*three())
    with pytest.raises(BadRequestError, match="northfork is disabled"):
        mill.run(at=after(4))
    assert len(mill.runs()) == 3


@pytest.mark.spec("002 11.1")
def test_success_begins_the_count_of_failures_anew(mill):
    mill.fail(at=after(1))
    mill.fail(at=after(2))
    mill.deliver(*three())
    mill.run(at=after(3))
    assert mill.feed()["consecutive_failures"] == 0
    mill.path.unlink()
    mill.fail(at=after(4))
    assert mill.counts(mill.feed(), "consecutive_failures", "status") == (1, "ENABLED")
    assert mill.events("FEED_AUTO_DISABLED") == []


@pytest.mark.parametrize("status", ["DRAFT", "PAUSED", "DISABLED", "REMOVED"])
def test_feed_that_is_not_enabled_is_refused_without_a_record(mill, status):
    mill.deliver(*three())
    mill.conn.execute("UPDATE schedules SET status = %s, next_run_at = NULL", [status])
    with pytest.raises(BadRequestError) as refused:
        mill.run(at=after(1))
    assert refused.value.code == "FEED_NOT_ENABLED"
    assert (mill.runs(), mill.jobs()) == ([], [])


def test_unknown_feed_is_refused(mill):
    with pytest.raises(BadRequestError) as refused:
        type(mill)(mill.conn, mill.path, "nobody").run()
    assert refused.value.code == "UNKNOWN_FEED"


def test_run_before_the_last_stamp_is_refused_without_a_record(mill):
    mill.deliver(*three())
    mill.run(at=after(2))
    with pytest.raises(BadRequestError) as refused:
        mill.run(at=after(1))
    assert (refused.value.code, len(mill.runs()), len(mill.jobs())) == ("AT_TOO_EARLY", 1, 1)


def abandoned(mill, *, attempt):
    """What a process leaves that died in the middle of a run: run and job still running, one batch committed."""
    life = {"started_at": START, "key": mill.key, "trigger": "MANUAL"}
    job = builders.insert(mill.conn, "ingestion_jobs", status="running", attempt=attempt, **life)
    life = {"status": "running", "job_id": job["id"], "started_at": START, "trigger": "MANUAL"}
    run = builders.run(mill.conn, mill.feed(), figures={"prices_written": 0, "products_created": 0}, **life)
    ids = {"source_id": mill.feed()["source_id"], "run_id": run["id"]}
    [obs_seq] = mill.one("UPDATE sources SET obs_seq = obs_seq + 1 RETURNING obs_seq").values()
    builders.insert(mill.conn, "sightings", obs_seq=obs_seq, product_ids=[], **ids)
    return run["id"], job["id"]


def run_of(mill, run_id):
    return mill.one("SELECT * FROM affiliate_feed_runs WHERE id = %s", run_id)


@pytest.mark.parametrize("attempt", [1, 2])
def test_record_of_a_dead_process_is_closed_and_its_job_goes_on(mill, attempt):
    run_id, job_id = abandoned(mill, attempt=attempt)
    mill.deliver(*three())
    record = mill.run(at=after(1))
    lost = run_of(mill, run_id)
    assert mill.counts(lost, "status", "error_code", "error_class") == ("FAILED", "WORKER_LOST", "transient")
    assert lost["finished_at"] == after(1)
    [job] = mill.jobs()
    assert mill.counts(job, "id", "status", "attempt", "run_id") == (job_id, "success", attempt + 1, record["id"])
    assert (record["job_id"], job["error_code"]) == (job_id, None)
    assert mill.feed()["consecutive_failures"] == 0


def test_record_of_a_dead_process_tells_that_it_was_partial(mill):
    run_id, _ = abandoned(mill, attempt=1)
    mill.deliver(*three())
    mill.run(at=after(1))
    assert run_of(mill, run_id)["is_partial"] is True


def test_run_after_a_dead_process_reads_the_file_whatever_its_date(mill):
    """As after any failed run."""
    mill.deliver(*three())
    mill.run(at=after(1))
    abandoned(mill, attempt=1)
    assert mill.run(at=after(2))["skipped_reason"] is None


def test_job_that_died_three_times_fails_and_a_new_one_is_made(mill):
    _, job_id = abandoned(mill, attempt=3)
    mill.fail(at=after(1))
    lost, failed = mill.jobs()
    assert mill.counts(lost, "id", "status", "error_code") == (job_id, "failed", "WORKER_LOST")
    assert mill.counts(failed, "status", "attempt", "error_code") == ("failed", 1, "FILE_NOT_FOUND")
    assert mill.feed()["consecutive_failures"] == 2


@pytest.mark.spec("002 11.1")
def test_third_failure_by_death_disables_the_feed_too(mill):
    abandoned(mill, attempt=3)
    mill.conn.execute("UPDATE schedules SET consecutive_failures = 2")
    mill.deliver(*three())
    with pytest.raises(BadRequestError, match="disabled"):
        mill.run(at=after(1))
    assert mill.feed()["status"] == "DISABLED"
    assert len(mill.events("FEED_AUTO_DISABLED")) == 1


def test_busy_feed_makes_no_record_and_no_job(mill, database, monkeypatch):
    monkeypatch.setattr(exclusive, "LOCK_SECONDS", 0.2)
    mill.deliver(*three())
    with engine.open_connection(database) as other:
        other.execute("SELECT pg_advisory_lock(%s)", [mill.lock_id()])
        with pytest.raises(BusyError):
            mill.run(at=after(1))
        assert (mill.runs(), mill.jobs(), mill.events("job.started")) == ([], [], [])
    mill.run(at=after(1))


def test_run_takes_the_job_that_is_queued_while_it_starts(mill, database):
    """A dispatcher claims the slot between the look for a waiting job and the making of one."""
    mill.deliver(*three())
    done = threading.Event()
    blocked = "SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
    stop = "SELECT pg_terminate_backend(pid) FROM pg_locks WHERE locktype = 'advisory' AND objid = %s"

    def commit_when_waited_for():
        with engine.open_connection(database) as watching:
            until(lambda: watching.execute(blocked).fetchall())
            dispatcher.commit()
            if not done.wait(10):
                watching.execute(stop, [mill.lock_id()])

    with psycopg.connect(database, row_factory=dict_row) as dispatcher:
        queued = builders.insert(dispatcher, "ingestion_jobs", key=mill.key, slot=START)
        thread = threading.Thread(target=commit_when_waited_for)
        thread.start()
        try:
            record = mill.run(at=after(1))
        finally:
            done.set()
            thread.join()
    assert [job["id"] for job in mill.jobs()] == [record["job_id"]] == [queued["id"]]


def until(condition):
    deadline = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < deadline, "did not happen within a minute"
        time.sleep(0.01)


def test_busy_limit_in_prefect_does_not_stop_a_run(mill):
    """It keeps the pages of Prefect honest; the lock in Postgres keeps runs apart."""
    mill.deliver(*three())
    mill.run(at=after(1))
    with concurrency(f"catalogue:{mill.key}", max_retries=0, strict=True):
        mill.run(at=after(2), force=True)
    with get_client(sync_client=True) as client:
        [limit] = [one for one in client.read_global_concurrency_limits() if one.name == f"catalogue:{mill.key}"]
    assert (limit.limit, limit.active_slots) == (1, 0)


def ledger(mill):
    """Status of the job, of the run in the ledger and of the record of the catalogue, and the audit events."""
    statuses = mill.one(
        """SELECT job.status AS job, run.status AS run, record.status AS record, run.active_stage
             FROM ingestion_runs run
             JOIN ingestion_jobs job ON job.id = run.job_id
             JOIN affiliate_feed_runs record ON record.id = run.id"""
    )
    names = [
        event["event_name"] for event in mill.events() if event["event_name"] not in {"FEED_CREATED", "job.queued"}
    ]
    return (*statuses.values(), names)


def test_ledger_of_a_success(mill):
    mill.deliver(*three())
    record = mill.run(at=after(1))
    judged = ["CIRCUIT_BREAKER_START", "CIRCUIT_BREAKER_PASSED", "PROMOTE_START", "PROMOTE_COMPLETE"]
    assert ledger(mill) == (
        "success",
        "completed",
        "SUCCEEDED",
        "summary",
        ["job.started", "PARSE_COMPLETE", *judged, "job.completed"],
    )
    [job] = mill.jobs()
    assert mill.counts(job, "slot", "trigger", "attempt", "run_id") == (after(1), "MANUAL", 1, record["id"])
    assert job["correlation_id"] == record["correlation_id"]
    for event in mill.events("job.started", "job.completed"):
        assert mill.counts(event, "run_id", "job_id", "occurred_at") == (record["id"], job["id"], after(1))
    assert mill.feed()["last_run_at"] == after(1)


def test_ledger_of_a_failure(mill):
    record = mill.fail(at=after(1))
    assert ledger(mill) == ("failed", "failed", "FAILED", "discovery", ["job.started", "job.failed"])
    [job] = mill.jobs()
    assert mill.counts(job, "error_code", "error_class") == ("FILE_NOT_FOUND", "permanent")
    assert (job["next_retry_at"], job["finished_at"]) == (None, after(1))
    [event] = mill.events("job.failed")
    assert event["fields"]["error_code"] == record["error_code"] == "FILE_NOT_FOUND"
    assert event["fields"]["error_message"] == record["error_message"] == job["error_message"]
    assert mill.feed()["last_run_at"] == after(1)


def test_ledger_of_a_cancel(mill):
    """An operator's cancel never counts as a failure."""

    def cancel():
        raise KeyboardInterrupt

    mill.deliver(*three())
    with suppress(KeyboardInterrupt), progress.heard_by(Hearing("writing", cancel)):
        mill.run(at=after(1))
    assert ledger(mill)[:4] == ("canceled", "canceled", "FAILED", "documents")
    record = mill.newest_run()
    assert mill.counts(record, "error_code", "is_partial") == ("CANCELED_BY_OPERATOR", True)
    assert mill.counts(mill.feed(), "consecutive_failures", *LAST_FILE) == (0, None, None, None)
    mill.run(at=after(2))


def test_run_that_is_told_to_end_is_a_cancel_too(mill):
    """SIGTERM, as from a service that is restarted; Prefect turns it into an exception of its own."""
    start = Start(clock=Clock(after(1)))
    with pytest.raises(TerminationSignal), steps.catalogue_run(mill.key, start):
        raise TerminationSignal(signal=signal.SIGTERM)
    assert mill.newest_run()["error_code"] == "CANCELED_BY_OPERATOR"
    assert mill.feed()["consecutive_failures"] == 0


def test_audit_events_of_a_run_carry_its_correlation_id(mill):
    mill.deliver(*three())
    record = mill.run(at=after(1))
    events = mill.events("job.started", "job.completed")
    assert [event["correlation_id"] for event in events] == [record["correlation_id"]] * 2


def test_stage_of_a_run_follows_its_work(mill):
    stages = []

    def note():
        stages.append(mill.one("SELECT active_stage FROM ingestion_runs ORDER BY created_at DESC")["active_stage"])

    mill.deliver(*three())
    with progress.heard_by(Hearing("fetching", note)):
        mill.run(at=after(1))
    mill.conn.execute("DELETE FROM ingestion_runs")
    with progress.heard_by(Hearing("writing", note)):
        mill.run(at=after(2), force=True)
    note()
    assert stages == ["discovery", "documents", "summary"]


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as listening:
        return listening.getsockname()[1]


def test_host_that_does_not_answer_is_tried_three_times_and_counts_once(drawer):
    mill = drawer.put_on_file(f"sftp://feeds@127.0.0.1:{free_port()}/x.csv", password=PASSWORD)
    hearing = Hearing()
    with progress.heard_by(hearing):
        record = mill.fail(at=after(1))
    assert mill.counts(record, "error_code", "error_class") == ("HOST_UNREACHABLE", "transient")
    assert [sentence.partition("; ")[2] for sentence in hearing.sentences] == [
        "trying again (1 of 2)",
        "trying again (2 of 2)",
    ]
    assert mill.feed()["consecutive_failures"] == 1
    assert len(mill.events("job.failed")) == 1


class Counted(ReadOnlyFiles):
    """Counts attempts; the first ones fail as often as `failures` says."""

    attempts = 0
    failures = 0

    def stat(self, path):
        type(self).attempts += 1
        if self.attempts <= self.failures:
            self.connection.abort()
        return super().stat(path)


@pytest.mark.parametrize("failures", [1, 2])
def test_connection_that_breaks_is_made_anew_within_the_run(drawer, tmp_path, failures):
    served = type("Served", (Counted,), {"failures": failures})
    deliver(tmp_path / "x.csv", three())
    with sftp(tmp_path, served) as server:
        key = server.host_key_fingerprint
        mill = drawer.put_on_file(server.url("x.csv"), password=PASSWORD, host_key_fingerprint=key)
        hearing = Hearing()
        with progress.heard_by(hearing):
            record = mill.run(at=after(1))
    assert (record["rows_read"], len(hearing.sentences)) == (3, failures)
    assert mill.counts(mill.feed(), "consecutive_failures") == (0,)


@pytest.mark.parametrize(
    "name, password, code, attempts",
    [
        pytest.param("x.csv", "wrong", "LOGIN_REFUSED", 0, id="wrong password"),
        pytest.param("absent.csv", PASSWORD, "FILE_NOT_FOUND", 1, id="missing file"),
    ],
)
def test_what_cannot_succeed_is_tried_once(drawer, tmp_path, name, password, code, attempts):
    served = type("Served", (Counted,), {})
    deliver(tmp_path / "x.csv", three())
    with sftp(tmp_path, served) as server:
        key = server.host_key_fingerprint
        mill = drawer.put_on_file(server.url(name), password=password, host_key_fingerprint=key)
        hearing = Hearing()
        with progress.heard_by(hearing):
            record = mill.fail(at=after(1))
    assert (record["error_code"], served.attempts, hearing.sentences) == (code, attempts, [])


@contextmanager
def at_log_line(words, act):
    """Call something when a step logs these words."""

    class Handler(logging.Handler):
        def emit(self, record):
            if record.getMessage().startswith(words):
                act()

    handler = Handler()
    logger = logging.getLogger("prefect.task_runs")
    logger.addHandler(handler)
    try:
        yield
    finally:
        logger.removeHandler(handler)


MOMENTS = {
    "while fetching": lambda act: progress.heard_by(Hearing("fetching", act)),
    "after fetching": lambda act: at_log_line("DOWNLOAD_COMPLETE", act),
    "between two batches": lambda act: progress.heard_by(Hearing("writing", act)),
    "after the last batch": lambda act: at_log_line("loaded", act),
}


@pytest.mark.parametrize("moment", MOMENTS.values(), ids=MOMENTS.keys())
def test_run_that_loses_its_session_writes_nothing_more(mill, database, two_per_batch, moment):
    mill.deliver(*three())
    written = {}

    def kill():
        with engine.open_connection(database) as other:
            held = "FROM pg_locks WHERE locktype = 'advisory' AND objid = %s"
            other.execute(f"SELECT pg_terminate_backend(pid) {held}", [mill.lock_id()])
            until(lambda: not other.execute(f"SELECT {held}", [mill.lock_id()]).fetchall())
        written.update(mill.written())

    with moment(kill), pytest.raises(LockLostError):
        mill.run(at=after(1))
    assert written
    assert mill.written() == written
    assert mill.contents("promotions") == []
    assert mill.counts(mill.newest_run(), "status", "finished_at") == ("RUNNING", None)
    record = mill.run(at=after(2))
    lost = mill.runs()[1]
    assert mill.counts(lost, "status", "error_code") == ("FAILED", "WORKER_LOST")
    assert mill.counts(record, "products_upserted", "promotion_seq") == (3, 1)
    assert len(mill.offers(after(2))) == 3


@pytest.mark.parametrize("words", ["DOWNLOAD_COMPLETE", "loaded"])
def test_run_that_lost_its_session_is_not_tried_again(mill, database, words):
    """It may not write any more: a second attempt could only fail, after the wait between attempts."""
    mill.deliver(*three())

    def kill():
        with engine.open_connection(database) as other:
            other.execute("SELECT pg_terminate_backend(pid) FROM pg_locks WHERE objid = %s", [mill.lock_id()])

    hearing = Hearing()
    with at_log_line(words, kill), progress.heard_by(hearing), pytest.raises(LockLostError):
        mill.run(at=after(1))
    assert hearing.sentences == []


def test_mistake_of_our_own_is_recorded_and_not_tried_again(mill):
    """Whatever is raised, the record is closed and says what it was."""

    def stumble():
        raise TypeError("a bug")  # noqa: EM101 - as a bug would

    mill.deliver(*three())
    with progress.heard_by(Hearing("writing", stumble)):
        record = mill.fail(at=after(1), kind=TypeError)
    assert mill.counts(record, "error_code", "error_class") == ("UNEXPECTED", "permanent")
    assert record["error_message"] == "TypeError: a bug"


def test_failure_is_told_by_the_flow_as_it_was_raised(mill):
    deliver(mill.path, b"")
    with pytest.raises(EmptyFileError):
        mill.run(at=after(1))
