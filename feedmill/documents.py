"""What machines get: the interfaces of feeds, runs, offers and prices as documents."""

from typing import TYPE_CHECKING, Any

from db.engine import Row
from db.enums import SecretKind
from tasks.catalogue.config import DEFAULT_MAX_BYTES, DEFAULT_MAX_ROWS, shown_address
from tasks.catalogue.tracking import tracking_url

if TYPE_CHECKING:
    from tasks.catalogue.planning import Forecast  # brings the network

Document = dict[str, Any]

_FEED = (
    "status",
    "expiry_hours",
    "heartbeat_hours",
    "next_run_at",
    "last_run_at",
    "consecutive_failures",
    "manual_run_pending",
    "gates",
    "host_key_fingerprint",
    "legacy_algorithms",
    "created_at",
    "updated_at",
    "created_by",
)  # fmt: skip - a list of names
_OFFER = (
    "source_product_id",
    "feed_key",
    "retailer",
    "identity_type",
    "identity_value",
    "impact_item_id",
    "sku",
    "upc",
    "title",
    "brand",
    "category",
    "url",
    "tracking_url",
    "image_url",
    "price",
    "original_price",
    "currency",
    "in_stock",
    "last_seen_at",
    "last_seen_success_at",
    "priced_at",
)  # fmt: skip - the order in which an offer is written
_FIGURES = (
    "id",
    "started_at",
    "status",
    "rows_read",
    "products_upserted",
    "active_count_before",
    "seen_success_count",
    "would_expire_count",
    "url_hash_fallback_count",
    "expiry_blocked_reason",
    "expiry_step_failed",
    "expiry_approved_at",
    "promotion_seq",
)  # fmt: skip - a list of names
_PRICE = ("price", "original_price", "currency", "in_stock", "observed_at", "run_id", "promoted", "reason")


def feed(row: Row) -> Document:
    return {
        "key": row["feed_key"],
        "tenant": row["tenant_id"],
        "retailer": row["retailer"],
        "url": shown_address(row),
        "every_hours": row["schedule_frequency_hours"],
        "is_primary": row["is_display_primary"],
        "unchanged": row["unchanged_policy"],
        "has_password": row["secret_ciphertext"] is not None and row["secret_kind"] == SecretKind.PASSWORD,
        "has_private_key": row["secret_ciphertext"] is not None and row["secret_kind"] == SecretKind.PRIVATE_KEY,
        "max_bytes": row["max_file_size_bytes"] or DEFAULT_MAX_BYTES,
        "max_rows": row["max_row_count"] or DEFAULT_MAX_ROWS,
        "max_products": row["max_product_count"] or row["max_row_count"] or DEFAULT_MAX_ROWS,
        "tracking_template": row["affiliate_tracking_template"],
        "account_id": row["affiliate_account_id"],
        "last_run_status": row.get("last_run_status"),
        **{name: row[name] for name in _FEED},
    }


def run(row: Row) -> Document:
    return dict(row)


def plan(forecast: "Forecast") -> Document:
    """What a run would do, in the names of a run's record where it has them."""
    of = forecast.plan
    return {
        "feed_key": forecast.feed_key,
        "digest": of.digest,
        "content_hash": of.basis.content_hash,
        "promotion_seq": of.basis.newest_seq or None,
        "planned_at": forecast.planned_at,
        "is_busy": forecast.is_busy,
        "would_skip": forecast.would_skip,
        "download_bytes": forecast.download_bytes,
        **of.figures(),
        "products_entering": of.products.height - of.shown.height,
        "prices_by_reason": of.priced,
        "shelf_changes": of.shelf_changes(),
        "price_distribution": of.distribution(),
        "samples": forecast.samples,
    }


def figures(row: Row) -> Document:
    """Of a run what the gates looked at, and how it ended."""
    before = row["active_count_before"]
    share = round(row["would_expire_count"] / before, 4) if before else None
    return {**{name: row[name] for name in _FIGURES}, "expire_share": share}


def offer(row: Row) -> Document:
    whole = {**row, "tracking_url": tracking_url(row)}
    return {name: whole[name] for name in _OFFER}


def price(row: Row) -> Document:
    return {name: row[name] for name in _PRICE}
