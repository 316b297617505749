"""What the catalogue's tables refuse, whoever writes to them, and what the views of feeds and runs derive."""

from datetime import timedelta

import psycopg
import pytest

from db.ids import new_id
from tests.builders import NOON, feed, insert, run

EARLY = NOON - timedelta(hours=1)
HALF_WAY = NOON + timedelta(minutes=30)
END = NOON + timedelta(hours=1)
LATE = NOON + timedelta(hours=2)

RUNNING = {"status": "running", "started_at": NOON}
SUCCEEDED = {"status": "completed", "started_at": NOON, "finished_at": END}
FAILED = {"status": "failed", "started_at": NOON, "finished_at": END, "error_code": "X"}
CANCELED = {"status": "canceled", "started_at": NOON, "finished_at": END}

COUNTED = (
    "download_bytes", "inflated_bytes", "rows_read", "rows_parsed", "products_upserted", "products_created",
    "products_changed", "products_unchanged", "products_returned", "products_vanished", "products_expired",
    "products_rejected", "products_in_stock", "prices_written", "url_hash_fallback_count", "active_count_before",
    "seen_success_count", "would_expire_count", "remote_size",
)  # fmt: skip
BLOCKED = {"expiry_blocked": True, "expiry_blocked_reason": "SPIKE_THRESHOLD_EXCEEDED"}
APPROVED = {"expiry_approved_at": NOON, "expiry_approved_by": "ann"}
REJECTED = {"expiry_rejected_at": NOON, "expiry_rejected_by": "ann"}
SUMS = {
    "rows_read": 10, "products_rejected": 3, "duplicate_key_count": 1,
    "products_upserted": 6, "products_created": 1, "products_changed": 2, "products_unchanged": 3,
}  # fmt: skip
STEP_FAILED = {"expiry_step_failed": True}
ONE_PRIMARY = "sources_one_primary_per_retailer"

BAD_SOURCES = [
    pytest.param({"source_kind": "RUMOUR"}, "source_kind_known", id="unknown kind"),
    pytest.param({"affiliate_network": "ACME"}, "affiliate_network_known", id="unknown network"),
    pytest.param({"obs_seq": -1}, "obs_seq_counted", id="negative number of attempts"),
]
BAD_SETTINGS = [
    pytest.param({"expiry_hours": 0}, "expiry_hours_range", id="expiry of nothing"),
    pytest.param({"expiry_hours": 169}, "expiry_hours_range", id="expiry over a week"),
    pytest.param({"expiry_hours": -1}, "expiry_hours_range", id="negative expiry"),
    pytest.param({"heartbeat_hours": -1}, "heartbeat_hours_range", id="negative heartbeat"),
    pytest.param({"heartbeat_hours": 8761}, "heartbeat_hours_range", id="heartbeat over a year"),
    pytest.param({"network": "ACME"}, "network_known", id="unknown network"),
    pytest.param({"unchanged_policy": "guess"}, "unchanged_policy_known", id="unknown policy"),
    pytest.param({"transport": "GOPHER", "host": "h"}, "transport_known", id="unknown transport"),
    pytest.param({"format": "XML"}, "format_known", id="unknown format"),
    pytest.param({"compression": "ZIP"}, "compression_known", id="unknown compression"),
    pytest.param({"port": 0}, "port_range", id="port zero"),
    pytest.param({"port": 65536}, "port_range", id="port past the last"),
    pytest.param({"max_file_size_bytes": 0}, "max_file_size_bytes_positive", id="no bytes allowed"),
    pytest.param({"max_row_count": 0}, "max_row_count_positive", id="no rows allowed"),
    pytest.param({"max_product_count": 0}, "max_product_count_positive", id="no products allowed"),
    pytest.param({"transport": "SFTP"}, "host_unless_file", id="a server without a host"),
    pytest.param({"host": "files.example.com"}, "host_unless_file", id="a local file on a host"),
    pytest.param({"secret_ciphertext": b"x"}, "secret_has_its_key_id", id="a secret without its key id"),
    pytest.param({"secret_key_id": "k1"}, "secret_has_its_key_id", id="a key id without a secret"),
    pytest.param({"secret_kind": "RIDDLE"}, "secret_kind_known", id="an unknown kind of secret"),
]
BAD_RUNS = [
    *(pytest.param({name: -1}, f"{name}_counted", id=f"negative {name}") for name in COUNTED),
    pytest.param({**SUMS, "products_unchanged": 2}, "sums", id="a product neither created, changed nor unchanged"),
    pytest.param({**SUMS, "products_created": 2}, "sums", id="a product counted twice"),
    pytest.param({**SUMS, "rows_read": 11}, "every_row_once", id="a row in no bucket"),
    pytest.param({**SUMS, "duplicate_key_count": 2}, "every_row_once", id="a row in two buckets"),
    pytest.param({"error_count": -1}, "errors_counted", id="negative errors"),
    pytest.param({"duplicate_key_count": -1}, "errors_counted", id="negative duplicates"),
    pytest.param({"expiry_blocked": True}, "blocked_has_a_reason", id="blocked without a reason"),
    pytest.param({"expiry_blocked_reason": "X"}, "blocked_has_a_reason", id="a reason without a block"),
    pytest.param(APPROVED, "approved_was_waiting", id="approved without waiting"),
    pytest.param(REJECTED, "rejected_was_waiting", id="rejected without waiting"),
    pytest.param(BLOCKED | APPROVED | REJECTED, "one_verdict", id="approved and rejected"),
    pytest.param(BLOCKED | {"expiry_approved_at": NOON}, "approval_has_a_name", id="approved by nobody"),
    pytest.param(BLOCKED | {"expiry_approved_by": "ann"}, "approval_has_a_name", id="approved at no time"),
    pytest.param(BLOCKED | {"expiry_rejected_at": NOON}, "rejection_has_a_name", id="rejected by nobody"),
    pytest.param(BLOCKED | {"expiry_rejected_by": "ann"}, "rejection_has_a_name", id="rejected at no time"),
    pytest.param(BLOCKED | {"skipped_reason": "UNCHANGED_HASH"}, "skipped_is_not_blocked", id="skipped and blocked"),
    pytest.param(STEP_FAILED | {"skipped_reason": "X"}, "skipped_is_not_blocked", id="skipped and failed to promote"),
]
BAD_PRODUCTS = [pytest.param({"identity_type": "GTIN"}, "identity_type_known", id="unknown kind of identity")]
BAD_SPANS = [pytest.param({"from_seq": 2, "to_seq": 1}, "order", id="a span that ends before it begins")]


def bad(table, cases):
    return [pytest.param(table, *case.values, id=f"{table}: {case.id}") for case in cases]


BAD_ROWS = (
    bad("sources", BAD_SOURCES)
    + bad("feed_settings", BAD_SETTINGS)
    + bad("catalogue_runs", BAD_RUNS)
    + bad("source_products", BAD_PRODUCTS)
    + bad("shelf_spans", BAD_SPANS)
)


@pytest.fixture
def one(any_conn):
    return feed(any_conn)


@pytest.fixture
def new_row(any_conn, one):
    """Inserts a row with these columns and whatever it must refer to."""

    def product():
        return insert(any_conn, "source_products", source_id=one["source_id"])["id"]

    makers = {
        "sources": lambda row: insert(any_conn, "sources", retailer_id=one["retailer_id"], **row),
        "feed_settings": lambda row: feed(any_conn, settings=row),
        "catalogue_runs": lambda row: run(any_conn, one, **SUCCEEDED, figures=row),
        "source_products": lambda row: insert(any_conn, "source_products", source_id=one["source_id"], **row),
        "shelf_spans": lambda row: insert(
            any_conn, "shelf_spans", **{"source_id": one["source_id"], "product_id": product(), **row}
        ),
    }
    return lambda table, **row: makers[table](row)


@pytest.mark.spec("002 2.1", "002 2.8.1")
@pytest.mark.parametrize("table, wrong, constraint", BAD_ROWS)
def test_catalogue_refuses_a_row_that_cannot_be(new_row, table, wrong, constraint):
    with pytest.raises(psycopg.errors.CheckViolation) as refused:
        new_row(table, **wrong)
    assert refused.value.diag.constraint_name == f"{table}_{constraint}"


@pytest.mark.parametrize("table", sorted({"retailers", *(case.values[0] for case in BAD_ROWS)}))
def test_every_check_of_the_catalogue_has_a_row_that_it_refuses(any_conn, table):
    rows = any_conn.execute(
        "SELECT conname FROM pg_constraint WHERE conrelid = %s::regclass AND contype = 'c'", [table]
    ).fetchall()
    tried = {f"{table}_{case.values[2]}" for case in BAD_ROWS if case.values[0] == table}
    assert {row["conname"] for row in rows} == tried


@pytest.mark.spec("002 2.8.1")
@pytest.mark.parametrize("hours", [1, 48, 168])
def test_expiry_hours_take_one_hour_to_a_week(new_row, hours):
    assert new_row("feed_settings", expiry_hours=hours)["expiry_hours"] == hours


@pytest.mark.parametrize(
    "right",
    [
        pytest.param({"heartbeat_hours": 0}, id="no heartbeats"),
        pytest.param({"heartbeat_hours": 8760}, id="one heartbeat a year"),
        pytest.param({"transport": "FTP", "host": "h", "port": 1}, id="the first port"),
        pytest.param({"transport": "SFTP", "host": "h", "port": 65535}, id="the last port"),
        pytest.param({"secret_ciphertext": b"x", "secret_key_id": "k1"}, id="a secret with its key id"),
    ],
)
def test_feed_settings_take_the_edges_of_what_is_allowed(new_row, right):
    stored = new_row("feed_settings", **right)
    assert {name: stored[name] for name in right} == right


@pytest.mark.spec("002 8.5")
@pytest.mark.parametrize(
    "right",
    [
        pytest.param({}, id="nothing counted yet"),
        pytest.param(SUMS, id="every row in one bucket"),
        pytest.param(BLOCKED, id="waiting for a verdict"),
        pytest.param(BLOCKED | APPROVED, id="blocked and approved"),
        pytest.param(BLOCKED | REJECTED, id="blocked and rejected"),
        pytest.param(STEP_FAILED | APPROVED, id="not promoted by mistake, and approved"),
        pytest.param({"skipped_reason": "UNCHANGED_HASH"}, id="skipped"),
    ],
)
def test_runs_take_every_outcome_of_the_design(new_row, right):
    stored = new_row("catalogue_runs", **right)
    assert {name: stored[name] for name in right} == right


@pytest.mark.spec("002 2.1")
def test_a_feed_with_nothing_named_has_the_defaults_of_the_design(any_conn, one):
    scheduled = insert(any_conn, "schedules")
    source = insert(any_conn, "sources", retailer_id=one["retailer_id"])
    any_conn.execute(
        "INSERT INTO feed_settings (schedule_id, source_id, host, path, created_at, updated_at)"
        " VALUES (%s, %s, 'files.example.com', '/catalog.csv', now(), now())",
        [scheduled["id"], source["id"]],
    )
    stored = any_conn.execute("SELECT * FROM affiliate_feeds WHERE source_id = %s", [source["id"]]).fetchone()
    expected = {
        "network": "IMPACT", "status": "DRAFT", "schedule_frequency_hours": None, "next_run_at": None,
        "expiry_hours": 48, "consecutive_failures": 0, "last_run_at": None, "transport": "SFTP",
        "secret_ciphertext": None, "secret_version": 1, "format": "CSV", "compression": "NONE",
        "max_file_size_bytes": None, "max_row_count": None, "manual_run_pending": False, "heartbeat_hours": 24,
        "unchanged_policy": "age", "gates": {}, "config_version": 1, "is_display_primary": False,
    }  # fmt: skip
    assert {name: stored[name] for name in expected} == expected


@pytest.mark.spec("002 2.1")
def test_a_run_with_nothing_counted_has_the_defaults_of_the_design(any_conn, one):
    stored = run(any_conn, one, **RUNNING)
    expected = {
        "trigger": "SCHEDULED", "error_count": 0, "duplicate_key_count": 0, "is_partial": False,
        "expiry_step_failed": False, "expiry_blocked": False, "skipped_reason": None, "rows_read": None,
    }  # fmt: skip
    assert {name: stored[name] for name in expected} == expected


def test_retailers_have_one_name_each_per_tenant(any_conn):
    insert(any_conn, "tenants", id="acme", name="Acme")
    for tenant in ("default", "acme"):
        insert(any_conn, "retailers", tenant_id=tenant, name="Northfork")
    with pytest.raises(psycopg.errors.UniqueViolation):
        insert(any_conn, "retailers", name="Northfork")


@pytest.mark.spec("002 2.2")
@pytest.mark.parametrize("wrong", [pytest.param(None, id="none"), pytest.param(-1, id="one that does not exist")])
def test_a_source_needs_a_retailer(any_conn, wrong):
    with pytest.raises((psycopg.errors.NotNullViolation, psycopg.errors.ForeignKeyViolation)):
        insert(any_conn, "sources", retailer_id=wrong)


@pytest.mark.spec("002 2.2")
def test_a_source_is_direct_and_not_primary_unless_said_otherwise(any_conn, one):
    stored = any_conn.execute(
        "INSERT INTO sources (tenant_id, retailer_id, name, created_at, updated_at)"
        " VALUES ('default', %s, 'own', now(), now()) RETURNING *", [one["retailer_id"]],
    ).fetchone()  # fmt: skip
    assert (stored["source_kind"], stored["is_display_primary"], stored["affiliate_network"]) == ("DIRECT", False, None)


@pytest.mark.spec("002 2.2", "002 18.3")
def test_one_primary_source_per_retailer(any_conn, one):
    primary = {"retailer_id": one["retailer_id"], "is_display_primary": True}
    first = insert(any_conn, "sources", **primary)
    with pytest.raises(psycopg.errors.UniqueViolation, match=ONE_PRIMARY), any_conn.transaction():
        insert(any_conn, "sources", **primary, source_kind="DIRECT")
    with pytest.raises(psycopg.errors.UniqueViolation, match=ONE_PRIMARY), any_conn.transaction():
        any_conn.execute("UPDATE sources SET is_display_primary = true WHERE id = %s", [one["source_id"]])
    any_conn.execute("UPDATE sources SET is_display_primary = false WHERE id = %s", [first["id"]])
    insert(any_conn, "sources", **primary)


@pytest.mark.spec("002 2.2", "002 18.3")
def test_sources_that_are_not_primary_and_those_of_others_are_no_conflict(any_conn, one):
    insert(any_conn, "sources", retailer_id=one["retailer_id"], is_display_primary=True)
    insert(any_conn, "sources", retailer_id=one["retailer_id"])
    insert(any_conn, "sources", retailer_id=insert(any_conn, "retailers")["id"], is_display_primary=True)


@pytest.mark.spec("002 2.1")
@pytest.mark.parametrize("shared", ["schedule_id", "source_id"])
def test_a_feed_has_a_source_and_a_schedule_of_its_own(any_conn, one, shared):
    other = feed(any_conn)
    any_conn.execute("DELETE FROM feed_settings WHERE id = %s", [other["id"]])
    ids = {"schedule_id": other["schedule_id"], "source_id": other["source_id"], shared: one[shared]}
    with pytest.raises(psycopg.errors.UniqueViolation, match=shared):
        insert(any_conn, "feed_settings", **ids)


@pytest.mark.spec("002 2.3")
def test_one_product_per_source_and_identity(any_conn, one):
    identity = {"source_id": one["source_id"], "identity_type": "SKU", "identity_value": "A-1"}
    insert(any_conn, "source_products", **identity)
    insert(any_conn, "source_products", **identity | {"identity_type": "IMPACT_ITEM_ID"})
    insert(any_conn, "source_products", **identity | {"source_id": feed(any_conn)["source_id"]})
    with pytest.raises(psycopg.errors.UniqueViolation, match="identity"):
        insert(any_conn, "source_products", **identity)


@pytest.mark.spec("002 2.3")
@pytest.mark.parametrize(
    "change",
    [
        pytest.param("UPDATE source_products SET identity_type = 'URL_HASH'", id="kind of identity"),
        pytest.param("UPDATE source_products SET identity_value = 'B'", id="value of the identity"),
        pytest.param("UPDATE source_products SET source_id = %(other)s", id="source"),
    ],
)
def test_the_identity_of_a_product_is_set_once(any_conn, one, change):
    insert(any_conn, "source_products", source_id=one["source_id"])
    any_conn.execute("UPDATE source_products SET title = 'New', identity_type = identity_type, source_id = source_id")
    with pytest.raises(psycopg.errors.RestrictViolation, match="identity of a product is set once"):
        any_conn.execute(change, {"other": feed(any_conn)["source_id"]})


def test_a_product_has_one_open_span(any_conn, one):
    product = insert(any_conn, "source_products", source_id=one["source_id"])
    span = {"source_id": one["source_id"], "product_id": product["id"]}
    insert(any_conn, "shelf_spans", **span, from_seq=1, to_seq=2)
    insert(any_conn, "shelf_spans", **span, from_seq=4, to_seq=4)
    insert(any_conn, "shelf_spans", **span, from_seq=6)
    with pytest.raises(psycopg.errors.UniqueViolation, match="shelf_spans_one_open"), any_conn.transaction():
        insert(any_conn, "shelf_spans", **span, from_seq=8)
    with pytest.raises(psycopg.errors.UniqueViolation, match="shelf_spans_pkey"):
        insert(any_conn, "shelf_spans", **span, from_seq=4, to_seq=5)


def test_cleaning_up_a_run_leaves_promotions_sightings_and_prices(any_conn, one):
    made = run(any_conn, one, **SUCCEEDED)
    product = insert(any_conn, "source_products", source_id=one["source_id"])
    insert(any_conn, "affiliate_feed_run_errors", run_id=made["id"])
    insert(any_conn, "promotions", source_id=one["source_id"], seq=1, run_id=made["id"])
    insert(any_conn, "sightings", source_id=one["source_id"], obs_seq=1, run_id=made["id"], product_ids=[product["id"]])
    insert(any_conn, "prices", source_product_id=product["id"], affiliate_feed_run_id=made["id"])
    any_conn.execute("DELETE FROM ingestion_runs WHERE id = %s", [made["id"]])
    kept = any_conn.execute(
        "SELECT (SELECT count(*) FROM catalogue_runs) AS runs,"
        " (SELECT count(*) FROM affiliate_feed_run_errors) AS errors,"
        " (SELECT count(*) FROM promotions) AS promotions, (SELECT count(*) FROM sightings) AS sightings,"
        " (SELECT count(*) FROM prices) AS prices"
    ).fetchone()
    assert kept == {"runs": 0, "errors": 0, "promotions": 1, "sightings": 1, "prices": 1}


SEED_COLUMNS = {
    "affiliate_feeds": "id source_id network status schedule_frequency_hours next_run_at expiry_hours"
    " consecutive_failures last_run_at transport host port path username secret_ciphertext secret_key_id"
    " secret_version format compression last_remote_mtime last_remote_size last_content_hash max_file_size_bytes"
    " max_row_count feed_lock_id manual_run_pending created_at updated_at created_by",
    "affiliate_feed_runs": "id feed_id source_id trigger status started_at finished_at duration_ms download_bytes"
    " rows_read rows_parsed products_upserted products_expired products_rejected prices_written error_count"
    " duplicate_key_count url_hash_fallback_count active_count_before seen_success_count would_expire_count"
    " is_partial expiry_step_failed skipped_reason expiry_blocked expiry_blocked_reason expiry_approved_at"
    " expiry_approved_by artifact_url",
    "affiliate_feed_run_errors": "id run_id code message row_number raw_row created_at",
    "retailers": "id name website logo_url",
    "sources": "id retailer_id is_display_primary source_kind affiliate_network affiliate_account_id"
    " affiliate_account_name",
    "source_products": "id source_id identity_type identity_value title url image_url impact_item_id sku"
    " normalized_url_hash created_by_run_id last_updated_by_run_id created_at updated_at",
    "source_product_presence": "id source_product_id last_seen_at last_seen_success_at updated_at",
    "source_product_seen": "id run_id source_product_id created_at",
}


@pytest.mark.spec("002 2.1", "002 18.1")
@pytest.mark.parametrize("relation", SEED_COLUMNS)
def test_relations_have_the_columns_of_the_design(any_conn, relation):
    rows = any_conn.execute("SELECT attname FROM pg_attribute WHERE attrelid = %s::regclass AND attnum > 0", [relation])
    there = {row["attname"] for row in rows}
    assert set(SEED_COLUMNS[relation].split()) - there == set()


@pytest.mark.spec("002 2.1")
@pytest.mark.parametrize(
    "requested_at, runs, pending",
    [
        pytest.param(None, [], False, id="no request and no run"),
        pytest.param(None, [SUCCEEDED], False, id="no request and a run"),
        pytest.param(None, [FAILED], False, id="no request and a failed run"),
        pytest.param(NOON, [], True, id="a request and no run"),
        pytest.param(NOON, [{"status": "pending"}], True, id="a request and a run that has not begun"),
        pytest.param(EARLY, [RUNNING], False, id="a request before the run under way"),
        pytest.param(EARLY, [SUCCEEDED], False, id="a request before a run that succeeded"),
        pytest.param(EARLY, [FAILED], False, id="a request before a run that failed"),
        pytest.param(NOON, [SUCCEEDED], False, id="a request at the moment of the start"),
        pytest.param(HALF_WAY, [RUNNING], True, id="a request during the run under way"),
        pytest.param(HALF_WAY, [SUCCEEDED], True, id="a request during a run that then succeeded"),
        pytest.param(HALF_WAY, [FAILED], False, id="a request during a run that then failed"),
        pytest.param(HALF_WAY, [CANCELED], False, id="a request during a run that then was canceled"),
        pytest.param(END, [FAILED], False, id="a request at the moment of a failed end"),
        pytest.param(LATE, [FAILED], True, id="a request after a failed run's end"),
        pytest.param(LATE, [CANCELED], True, id="a request after a canceled run's end"),
        pytest.param(LATE, [SUCCEEDED], True, id="a request after a run that succeeded"),
        pytest.param(HALF_WAY, [FAILED, SUCCEEDED | {"started_at": END}], False, id="a newer run answers it"),
        pytest.param(HALF_WAY, [SUCCEEDED, FAILED | {"started_at": EARLY}], True, id="an older failure does not"),
    ],
)
def test_manual_run_pending_is_derived_from_request_and_last_run(any_conn, requested_at, runs, pending):
    asked = feed(any_conn, manual_requested_at=requested_at)
    for lifecycle in runs:
        run(any_conn, asked, **lifecycle)
    stored = any_conn.execute("SELECT manual_run_pending FROM affiliate_feeds WHERE id = %s", [asked["id"]]).fetchone()
    assert stored["manual_run_pending"] is pending


def test_the_run_of_another_feed_answers_no_request(any_conn, one):
    asked = feed(any_conn, manual_requested_at=EARLY)
    run(any_conn, one, **SUCCEEDED)
    stored = any_conn.execute("SELECT manual_run_pending FROM affiliate_feeds WHERE id = %s", [asked["id"]]).fetchone()
    assert stored["manual_run_pending"] is True


@pytest.mark.spec("002 2.1")
@pytest.mark.parametrize(
    "lifecycle, status",
    [
        pytest.param(RUNNING, "RUNNING", id="running"),
        pytest.param(SUCCEEDED, "SUCCEEDED", id="completed"),
        pytest.param(FAILED, "FAILED", id="failed"),
        pytest.param(CANCELED, "FAILED", id="canceled by an operator"),
    ],
)
def test_runs_show_their_status_in_the_words_of_the_design(any_conn, one, lifecycle, status):
    assert run(any_conn, one, **lifecycle)["status"] == status


@pytest.mark.spec("002 2.1")
def test_a_run_that_has_not_begun_is_not_shown(any_conn, one):
    assert run(any_conn, one, status="pending") is None


@pytest.mark.spec("002 2.1")
@pytest.mark.parametrize(
    "finished_at, milliseconds",
    [
        pytest.param(None, None, id="unknown while it runs"),
        pytest.param(NOON, 0, id="at once"),
        pytest.param(NOON + timedelta(milliseconds=1), 1, id="a millisecond"),
        pytest.param(NOON + timedelta(seconds=90, milliseconds=250), 90_250, id="a minute and a half"),
        pytest.param(NOON + timedelta(days=40), 3_456_000_000, id="more than fits 32 bits"),
    ],
)
def test_duration_is_from_start_to_end_in_milliseconds(any_conn, one, finished_at, milliseconds):
    status = "completed" if finished_at else "running"
    made = run(any_conn, one, status=status, started_at=NOON, finished_at=finished_at)
    assert made["duration_ms"] == milliseconds


def test_the_figures_of_a_run_come_through_the_view(any_conn, one):
    replayed = new_id()
    made = run(any_conn, one, **FAILED, error_message="lost", figures={**SUMS, "replayed_from_run_id": replayed})
    assert {name: made[name] for name in SUMS} == SUMS
    assert (made["replayed_from_run_id"], made["error_code"], made["error_message"]) == (replayed, "X", "lost")
    assert (made["feed_id"], made["source_id"], made["feed_key"]) == (one["id"], one["source_id"], one["feed_key"])
