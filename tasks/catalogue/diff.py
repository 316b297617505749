"""What a file changes: its rows against the narrow state of the source. Frames in, frames out."""

from datetime import UTC, datetime, timedelta

import polars as pl

from db.enums import PriceReason
from tasks.catalogue.fingerprints import FINGERPRINT_VERSION

# The state of a source as it is read: one row per product that was ever seen.
STATE = {
    "product_id": pl.Int64,
    "identity_type": pl.String,
    "identity_value": pl.String,
    "known_fingerprint": pl.Int64,
    "known_version": pl.Int64,
    "last_signature": pl.String,
    "last_priced_at": pl.Datetime("us", "UTC"),
}


def with_changes(rows: pl.DataFrame, state: pl.DataFrame, *, now: datetime, heartbeat_hours: int) -> pl.DataFrame:
    """The rows with `product_id` (null: new), `is_changed` (attributes), `price_reason` (null: no price to write)."""
    joined = rows.join(state, on=["identity_type", "identity_value"], how="left", maintain_order="left")
    known = pl.col("product_id").is_not_null()
    same = (pl.col("fingerprint") == pl.col("known_fingerprint")) & (pl.col("known_version") == FINGERPRINT_VERSION)
    return joined.with_columns(
        is_changed=known & ~same.fill_null(value=False),
        price_reason=price_reason(now=now, heartbeat_hours=heartbeat_hours),
    )


def price_reason(*, now: datetime, heartbeat_hours: int) -> pl.Expr:
    """Why a price must be written, or null: none before, another signature than the last, or the last is too old."""
    last = pl.col("last_priced_at")
    due = now.astimezone(UTC) - timedelta(hours=heartbeat_hours)  # Polars compares times of one zone name only
    too_old = (last <= due) if heartbeat_hours else pl.lit(value=False)
    return (
        pl.when(pl.col("last_signature").is_null())
        .then(pl.lit(PriceReason.NEW.value))
        .when(pl.col("signature") != pl.col("last_signature"))
        .then(pl.lit(PriceReason.CHANGED.value))
        .when(too_old)
        .then(pl.lit(PriceReason.HEARTBEAT.value))
    )
