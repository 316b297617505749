"""Hashes that are stored, so they must never change by themselves: of a product's attributes and of its price."""

import hashlib
import json

import polars as pl

FINGERPRINT_VERSION = 1  # SHA-256 over the attributes, the first eight bytes as a signed number
ATTRIBUTES = (
    "title",
    "url",
    "delivered_url",
    "image_url",
    "impact_item_id",
    "sku",
    "normalized_url_hash",
    "upc",
    "brand",
    "category",
    "description",
)  # fmt: skip - a list of names, whose order is part of the hash


def fingerprint(attributes: tuple[str | None, ...]) -> int:
    """Of the attributes in their order."""
    text = json.dumps(attributes, ensure_ascii=False, separators=(",", ":"))
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big", signed=True)


def price_signature(price: str, original_price: str | None, currency: str, *, in_stock: bool) -> str:
    """Of everything that a price row says: 32 hex digits."""
    promo = {"original_price": original_price} if original_price is not None else None
    said = {"amount": price, "currency": currency, "in_stock": in_stock, "promo": promo}
    text = json.dumps(said, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def with_hashes(rows: pl.DataFrame) -> pl.DataFrame:
    """The rows with `fingerprint` and `signature`."""
    prints = [fingerprint(row) for row in rows.select(ATTRIBUTES).iter_rows()]
    said = rows.select("price", "original_price", "currency", "in_stock")
    signatures = [price_signature(*row[:3], in_stock=row[3]) for row in said.iter_rows()]
    return rows.with_columns(
        fingerprint=pl.Series(prints, dtype=pl.Int64), signature=pl.Series(signatures, dtype=pl.String)
    )
