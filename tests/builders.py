"""Rows for tests: `insert(conn, table, **columns)` fills in what the table requires and the test leaves out."""

from datetime import UTC, datetime
from itertools import count

from psycopg import sql
from psycopg.types.json import Jsonb

from db.ids import new_id

NOON = datetime(2026, 3, 2, 12, tzinfo=UTC)
_numbers = count(1)


def insert(conn, table, **columns):
    """The row as inserted."""
    row = {**_defaults(table), **columns}
    row = {name: Jsonb(value) if isinstance(value, dict) else value for name, value in row.items()}
    names = sql.SQL(", ").join(map(sql.Identifier, row))
    marks = sql.SQL(", ").join(sql.Placeholder(name) for name in row)
    statement = sql.SQL("INSERT INTO {} ({}) VALUES ({}) RETURNING *").format(sql.Identifier(table), names, marks)
    return conn.execute(statement, row).fetchone()


def _defaults(table):
    number = next(_numbers)
    stamps = {"created_at": NOON, "updated_at": NOON}
    key = {"tenant_id": "default", "pipeline": "catalogue"}
    text = {"fingerprint": number, "fingerprint_version": 1, "title": "Tent", "url": "https://shop.example/tent"}
    return {
        "tenants": {"created_at": NOON},
        "schedules": {**key, "key": f"feed-{number}", **stamps},
        "ingestion_jobs": {**key, "id": new_id(), "slot": NOON, "trigger": "SCHEDULED", **stamps},
        "ingestion_runs": {**key, "id": new_id(), "source_id": "1", "trigger": "SCHEDULED", **stamps},
        "ingestion_items": {
            **{"source_id": "1", "stage": "discovery", "item_type": "source_url", "status": "pending"},
            **{"first_seen_at": NOON, "last_seen_at": NOON, **stamps},
        },
        "retailers": {"tenant_id": "default", "name": f"Shop {number}", "created_at": NOON},
        "sources": {"tenant_id": "default", "name": f"source {number}", "source_kind": "AFFILIATE_FEED", **stamps},
        "feed_settings": {"path": "/catalog.csv", "transport": "FILE", **stamps},
        "catalogue_runs": {"config_version": 1},
        "affiliate_feed_run_errors": {"code": "PARSE_ERROR", "message": "ragged row", "created_at": NOON},
        "source_products": {"identity_type": "SKU", "identity_value": f"sku-{number}", **text, **stamps},
        "product_changes": {"obs_seq": 1, **text},
        "prices": {
            "obs_seq": 1,
            "price_amount": "9.99",
            "currency": "USD",
            "in_stock": True,
            "reason": "new",
            "price_signature_hash": f"{number:032x}",
            "created_at": NOON,
        },
        "promotions": {"promoted_at": NOON, "observed_at": NOON, "cutoff_obs": 1},
        "shelf_spans": {"from_seq": 1},
        "sightings": {"batch_no": 1, "seen_at": NOON},
        "setting_log": {"n": 1, "at": NOON, "expiry_hours": 48, "is_display_primary": True},
        "audit_events": {
            "tenant_id": "default",
            "event_name": "FEED_CREATED",
            "level": "INFO",
            "actor": "test",
            "occurred_at": NOON,
        },
    }[table]  # fmt: skip - one line per table


def feed(conn, *, tenant_id="default", source=None, settings=None, retailer_id=None, **schedule):
    """A feed with its retailer, source and schedule, as the view of feeds shows it."""
    scheduled = insert(conn, "schedules", tenant_id=tenant_id, **schedule)
    retailer_id = retailer_id or insert(conn, "retailers", tenant_id=tenant_id)["id"]
    from_source = insert(conn, "sources", tenant_id=tenant_id, retailer_id=retailer_id, **(source or {}))
    insert(conn, "feed_settings", schedule_id=scheduled["id"], source_id=from_source["id"], **(settings or {}))
    return conn.execute("SELECT * FROM affiliate_feeds WHERE schedule_id = %s", [scheduled["id"]]).fetchone()


def run(conn, of_feed, *, figures=None, **lifecycle):
    """A catalogue run of a feed, as the view of runs shows it."""
    key = {name: of_feed[name] for name in ("tenant_id",)} | {"key": of_feed["feed_key"]}
    made = insert(conn, "ingestion_runs", **key, **lifecycle)
    ids = {"run_id": made["id"], "feed_id": of_feed["id"], "source_id": of_feed["source_id"]}
    insert(conn, "catalogue_runs", **ids, **(figures or {}))
    return conn.execute("SELECT * FROM affiliate_feed_runs WHERE id = %s", [made["id"]]).fetchone()
