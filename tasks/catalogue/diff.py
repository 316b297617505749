"""What a file changes: its products against the narrow state of the source. Frames in, frames out."""

from datetime import UTC, datetime, timedelta

import polars as pl

from db.enums import PriceReason
from tasks.catalogue.identity import KEY, TYPE
from tasks.catalogue.validate import currencies

REASON = pl.Enum([reason.value for reason in PriceReason])


def state_schema() -> dict[str, pl.DataType | type[pl.DataType]]:
    """The state of a source as it is read: one row per product that was ever seen, with what its last price said."""
    return {
        "product_id": pl.Int64,
        "identity_type": TYPE,
        "identity_value": pl.String,
        "known_fingerprint": pl.Int64,
        "last_price": pl.Int64,
        "last_original_price": pl.Int64,
        "last_currency": currencies(),
        "last_in_stock": pl.Boolean,
        "last_priced_at": pl.Datetime("us", "UTC"),
    }


def with_changes(products: pl.DataFrame, state: pl.DataFrame, *, now: datetime, heartbeat_hours: int) -> pl.DataFrame:
    """The products with `product_id` (null: new), `is_changed` (attributes), `price_reason` (null: no price)."""
    joined = products.join(state, on=KEY, how="left", maintain_order="left")
    changed = pl.col("fingerprint").ne_missing(pl.col("known_fingerprint"))  # null: of an older version
    return joined.select(
        *products.columns,
        "product_id",
        is_changed=pl.col("product_id").is_not_null() & changed,
        price_reason=price_reason(now=now, heartbeat_hours=heartbeat_hours),
    )


def price_reason(*, now: datetime, heartbeat_hours: int) -> pl.Expr:
    """Why a price must be written, or null: none before, another than the last, or the last is too old."""
    same = pl.all_horizontal(
        pl.col(name).eq_missing(pl.col(f"last_{name}")) for name in ("price", "original_price", "currency", "in_stock")
    )
    due = now.astimezone(UTC) - timedelta(hours=heartbeat_hours)  # Polars compares times of one zone name only
    too_old = (pl.col("last_priced_at") <= due) if heartbeat_hours else pl.lit(value=False)
    reason = (
        pl.when(pl.col("last_price").is_null())
        .then(pl.lit(PriceReason.NEW.value))
        .when(~same)
        .then(pl.lit(PriceReason.CHANGED.value))
        .when(too_old)
        .then(pl.lit(PriceReason.HEARTBEAT.value))
    )
    return reason.cast(REASON)


def needs_attributes() -> pl.Expr:
    return pl.col("product_id").is_null() | pl.col("is_changed")
