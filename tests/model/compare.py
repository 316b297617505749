"""Every relation of one feed as the database has it, in the shape of the reference."""

from collections.abc import Iterable
from datetime import datetime
from typing import Any
from uuid import UUID

from db.engine import Connection, Row
from db.sql import load_sql
from tests.model.readers import PHASE_ONE, PHASE_TWO, Rows

_ATTRIBUTES = ("title", "url", "impact_item_id", "sku", "upc", "brand")
_SAID = ("price", "original_price", "currency", "in_stock")
_OFFER = (*_SAID, *_ATTRIBUTES, "last_seen_at", "last_seen_success_at", "priced_at")
_LASTING = (*_SAID, "last_seen_success_at", "priced_at")
_RUN = (
    "status",
    "skipped_reason",
    "is_partial",
    "prices_written",
    "expiry_blocked",
    "expiry_blocked_reason",
    "expiry_step_failed",
    "expiry_approved_at",
    "expiry_rejected_at",
)  # fmt: skip - a list of names
_FEED = (
    "status", "consecutive_failures", "last_remote_mtime", "last_remote_size", "last_content_hash", "expiry_hours",
    "heartbeat_hours", "unchanged_policy", "is_display_primary",
)  # fmt: skip
_BUCKETS = (
    "products_created", "products_changed", "products_unchanged", "products_rejected", "duplicate_key_count",
)  # fmt: skip

_PRODUCTS = """
SELECT p.*, here.last_seen_at, here.last_seen_success_at
  FROM source_products p
  JOIN source_product_presence here ON here.source_product_id = p.id AND here.source_id = p.source_id
 WHERE p.source_id = %(source_id)s
"""
_SEEN = "SELECT * FROM source_product_seen WHERE source_id = %(source_id)s"
# The statement that readers use for one product, for all of them at once.
_HISTORY = load_sql("shelf/select_prices").replace("%(source_product_id)s", "product.id")
_PRICES = f"""
SELECT product.id AS source_product_id, history.*
  FROM source_products product CROSS JOIN LATERAL ({_HISTORY}) history
 WHERE product.source_id = %(source_id)s
"""  # noqa: S608 - both parts are our own statements
_CURRENT = "SELECT * FROM current_prices WHERE source_id = %(source_id)s"
_OFFERS = "SELECT * FROM active_offers WHERE source_id = %(source_id)s"
_SHELVES = """
SELECT moment, offer.*
  FROM unnest(%(moments)s::timestamptz[]) AS moment
 CROSS JOIN LATERAL (SELECT * FROM offers_at(moment) WHERE source_id = %(source_id)s) offer
"""
_RUNS = "SELECT * FROM affiliate_feed_runs WHERE source_id = %(source_id)s"
_FEEDS = "SELECT * FROM affiliate_feeds WHERE source_id = %(source_id)s"


class Database:
    """The relations of one source."""

    def __init__(self, conn: Connection, source_id: int, numbers: dict[UUID, int]) -> None:
        self.conn, self.source_id, self.numbers = conn, source_id, numbers

    def relations(self) -> dict[str, Rows]:
        products = self._rows(_PRODUCTS)
        names = {row["id"]: (row["identity_type"], row["identity_value"]) for row in products}
        prices: Rows = {name: [] for name in names.values()}
        for row in self._rows(_PRICES):
            prices[names[row["source_product_id"]]].append((*self._price(row), row["reason"], row["promoted"]))
        latest = {names[row["source_product_id"]]: row for row in self._rows(_CURRENT)}
        reasons = {name: {row[:-2]: row[-2] for row in rows} for name, rows in prices.items()}
        current = {name: (*self._price(row), reasons[name][self._price(row)]) for name, row in latest.items()}
        return {
            "source_products": {names[row["id"]]: _pick(row, _ATTRIBUTES) for row in products},
            "source_product_presence": {
                names[row["id"]]: (row["last_seen_at"], row["last_seen_success_at"]) for row in products
            },
            "source_product_seen": {
                (self.numbers[row["run_id"]], names[row["source_product_id"]]): row["created_at"]
                for row in self._rows(_SEEN)
            },
            "prices": prices,
            "current_prices": current,
            "active_offers": _by_name(self._rows(_OFFERS), _OFFER),
            "affiliate_feed_runs": {self.numbers[row["id"]]: _run(row) for row in self._rows(_RUNS)},
            "affiliate_feeds": _pick(self._rows(_FEEDS)[0], _FEED),
        }

    def shelves(self, moments: Iterable[datetime]) -> dict[datetime, Rows]:
        """What was on the shelf at each of these moments."""
        found: dict[datetime, list[Row]] = {moment: [] for moment in moments}
        for row in self._rows(_SHELVES, moments=list(found)):
            found[row["moment"]].append(row)
        return {moment: _by_name(rows, _LASTING) for moment, rows in found.items()}

    def _price(self, row: Row) -> tuple[Any, ...]:
        return (*_pick(row, _SAID).values(), row["observed_at"], self.numbers[row["run_id"]])

    def _rows(self, statement: str, **params: Any) -> list[Row]:
        params |= {"source_id": self.source_id, "tenant_id": "default"}
        return self.conn.execute(statement, params).fetchall()  # type: ignore[arg-type]  # our own statements


def _by_name(rows: list[Row], names: tuple[str, ...]) -> Rows:
    found = {(row["identity_type"], row["identity_value"]): _pick(row, names) for row in rows}
    assert len(found) == len(rows), "a product is offered twice"
    return found


def _pick(row: Row, names: tuple[str, ...]) -> Rows:
    return {name: f"{row[name]:.2f}" if name in _SAID[:2] and row[name] is not None else row[name] for name in names}


def _run(row: Row) -> Rows:
    if row["rows_read"] is not None:
        assert row["rows_read"] == sum(row[name] for name in _BUCKETS), "a row is in no bucket, or in two"
    return _pick(row, (*_RUN, *PHASE_ONE, *PHASE_TWO) if row["status"] == "SUCCEEDED" else _RUN)
