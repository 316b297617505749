"""What readers see, derived from the literal rows: each relation under its name, in the shape the comparison uses."""

from datetime import datetime, timedelta
from typing import Any

from tests.model.books import Books
from tests.model.history import Identity
from tests.model.rows import Price, RunRow

Rows = dict[Any, Any]

PHASE_ONE = (
    "rows_read",
    "rows_parsed",
    "products_upserted",
    "products_created",
    "products_changed",
    "products_unchanged",
    "products_rejected",
    "duplicate_key_count",
    "url_hash_fallback_count",
)  # fmt: skip - a list of names
PHASE_TWO = (
    "active_count_before", "seen_success_count", "would_expire_count", "products_vanished", "products_returned",
    "products_expired",
)  # fmt: skip


class Shelves:
    """The shelf of every moment, written down when the moment came; while it may still change, written anew."""

    def __init__(self) -> None:
        self.past: dict[datetime, Rows] = {}

    def note(self, books: Books) -> None:
        now, expiry = books.stamp, timedelta(hours=books.expiry_hours)
        to_come = [moment for moment in self.past if moment >= now]
        for moment in (*to_come, now, now + expiry, now + expiry + timedelta(microseconds=1)):
            self.past[moment] = {key: _lasting(offer) for key, offer in offers(books, moment).items()}


def _lasting(offer: Rows) -> Rows:
    """The fields in which the shelf of the past is exact; the others are today's."""
    return {name: offer[name] for name in (*_SAID, "last_seen_success_at", "priced_at")}


_SAID = ("price", "original_price", "currency", "in_stock")


def _said(price: Price) -> Rows:
    return {name: getattr(price.said, name) for name in _SAID}


def offers(books: Books, at: datetime) -> dict[Identity, Rows]:
    """Section 13.1, of an affiliate source."""
    window = timedelta(hours=books.expiry_hours)
    return {
        key: {
            **_said(product.shown_price),
            **product.attributes,
            "last_seen_at": product.shown_seen_at,
            "last_seen_success_at": product.last_seen_success_at,
            "priced_at": product.shown_price.observed_at,
        }
        for key, product in books.products.items()
        if books.is_primary and books.status != "REMOVED" and product.shown_price is not None
        if product.last_seen_success_at is not None and at - product.last_seen_success_at <= window
    }


def relations(books: Books) -> dict[str, Rows]:
    """Every relation of the feed, as of now."""
    products, there = books.products.items(), [run for run in books.runs if not run.is_deleted]
    return {
        "source_products": {key: dict(product.attributes) for key, product in products},
        "source_product_presence": {
            key: (product.last_seen_at, product.last_seen_success_at) for key, product in products
        },
        "source_product_seen": {
            (run.number, key): run.observed_at for run in there if _keeps_seen_rows(run) for key in run.seen
        },
        "prices": {key: [_history(price) for price in product.prices] for key, product in products},
        "current_prices": {
            key: _history(product.shown_price)[:-1] for key, product in products if product.shown_price is not None
        },
        "active_offers": offers(books, books.stamp),
        "affiliate_feed_runs": {run.number: run_record(books, run) for run in there},
        "affiliate_feeds": feed_record(books),
    }


def _keeps_seen_rows(run: RunRow) -> bool:
    """Those of a run that was not promoted go when a later run has read its file to the end."""
    return run.is_promoted or not run.is_folded


def _history(price: Price) -> tuple[Any, ...]:
    return (*_said(price).values(), price.observed_at, price.run, price.reason, price.promoted)


def run_record(books: Books, run: RunRow) -> Rows:
    written = sum(1 for product in books.products.values() for price in product.prices if price.run == run.number)
    record = {
        "status": run.status,
        "skipped_reason": run.skipped_reason,
        "is_partial": run.status == "FAILED" and run.has_batch,
        "prices_written": written if run.has_batch else None,
        "expiry_blocked": bool(run.blocked),
        "expiry_blocked_reason": run.blocked[0] if run.blocked else None,
        "expiry_step_failed": run.step_failed,
        "expiry_approved_at": run.approved_at,
        "expiry_rejected_at": run.rejected_at,
    }
    if run.status == "SUCCEEDED":
        record |= {name: run.figures.get(name) for name in (*PHASE_ONE, *PHASE_TWO)}
        record["duplicate_key_count"] = record["duplicate_key_count"] or 0
    return record


def feed_record(books: Books) -> Rows:
    last = books.last_file
    return {
        "status": books.status,
        "consecutive_failures": books.failures,
        "last_remote_mtime": last.modified_at if last else None,
        "last_remote_size": last.size if last else None,
        "last_content_hash": last.sha256 if last else None,
        "expiry_hours": books.expiry_hours,
        "heartbeat_hours": books.heartbeat_hours,
        "unchanged_policy": books.unchanged_policy,
        "is_display_primary": books.is_primary,
    }
