"""Which product a row is about: the network's item id, else the retailer's SKU, else the hash of its address."""

import polars as pl

from db.enums import IdentityType
from tasks.catalogue.links import canonical_url, url_hash
from tasks.catalogue.parse import ROW

KEY = ["identity_type", "identity_value"]
TYPE = pl.Enum([kind.value for kind in IdentityType])


def with_identity(rows: pl.DataFrame) -> pl.DataFrame:
    """The rows with `identity_type` and `identity_value`; an address is hashed only where nothing else tells."""
    item, sku = pl.col("impact_item_id"), pl.col("sku")
    nameless = rows.filter(item.is_null() & sku.is_null()).select(ROW, "url")
    hashes = [url_hash(canonical_url(url)) for url in nameless["url"]]
    hashed = nameless.select(ROW, by_url=pl.Series(hashes, dtype=pl.String))
    kind = (
        pl.when(item.is_not_null())
        .then(pl.lit(IdentityType.IMPACT_ITEM_ID.value))
        .when(sku.is_not_null())
        .then(pl.lit(IdentityType.SKU.value))
        .otherwise(pl.lit(IdentityType.URL_HASH.value))
        .cast(TYPE)
    )
    placed = rows.join(hashed, on=ROW, how="left", maintain_order="left") if hashes else rows.with_columns(by_url=None)
    return placed.with_columns(identity_type=kind, identity_value=pl.coalesce(item, sku, "by_url"))


def with_addresses(rows: pl.DataFrame) -> pl.DataFrame:
    """The rows with the canonical `url` and its hash beside the `delivered_url`."""
    canonical = [canonical_url(url) for url in rows["url"]]
    return rows.rename({"url": "delivered_url"}).with_columns(
        url=pl.Series(canonical, dtype=pl.String),
        normalized_url_hash=pl.Series([url_hash(url) for url in canonical], dtype=pl.String),
    )


def last_of_each(rows: pl.DataFrame) -> pl.DataFrame:
    """The last row of each identity, over the whole file."""
    return rows.unique(subset=KEY, keep="last", maintain_order=True)


def upgrades(new: pl.DataFrame, known: pl.DataFrame) -> pl.DataFrame:
    """New products that are known under a lesser identity: `old_type` and `old_value` beside their own.

    The identity of a product never changes, so the old one ages out and the new one takes its place.
    """
    found = [
        _known_as(new.filter(pl.col("identity_type") == IdentityType.IMPACT_ITEM_ID.value), known, IdentityType.SKU),
        _known_as(new.filter(pl.col("identity_type") != IdentityType.URL_HASH.value), known, IdentityType.URL_HASH),
    ]
    return pl.concat(found).unique(subset=KEY, keep="first", maintain_order=True)


def _known_as(new: pl.DataFrame, known: pl.DataFrame, kind: IdentityType) -> pl.DataFrame:
    value = "sku" if kind is IdentityType.SKU else "normalized_url_hash"
    lesser = known.filter(pl.col("identity_type") == kind.value).select(old_value="identity_value")
    found = new.select(ROW, *KEY, old_value=value).join(lesser, on="old_value", how="semi")
    return found.with_columns(old_type=pl.lit(kind.value))
