"""Hashes that are stored, so they must never change by themselves: of a product's attributes and of its price."""

import hashlib

import polars as pl
import xxhash

FINGERPRINT_VERSION = 2  # XXH3 of 64 bits, as a signed number, over the attributes as delivered and their lengths
# What a file says of a product; the canonical address follows from the delivered one, so it is not among them.
DELIVERED = (
    "title",
    "url",
    "image_url",
    "impact_item_id",
    "sku",
    "upc",
    "brand",
    "category",
    "description",
)  # fmt: skip - a list of names, whose order is part of the hash


def fingerprints(rows: pl.DataFrame) -> pl.Series:
    """One number per row; two rows have the same if and only if all their attributes are the same."""
    lengths = pl.concat_str([pl.col(name).str.len_bytes().fill_null(0) for name in DELIVERED], separator=",")
    # The lengths behind the texts tell where each ends, whatever they hold. A blank is always null.
    texts = rows.select(pl.concat_str(*DELIVERED, lengths, ignore_nulls=True).cast(pl.Binary)).to_series()
    numbers = pl.Series([xxhash.xxh3_64_intdigest(text) for text in texts], dtype=pl.UInt64)
    return numbers.reinterpret(signed=True)


def price_signature(price: str, original_price: str | None, currency: str, *, in_stock: bool) -> str:
    """Of everything that a price row says: 32 hex digits."""
    promo = f'{{"original_price":"{original_price}"}}' if original_price is not None else "null"
    stock = "true" if in_stock else "false"
    # JSON by hand, of amounts and codes that need no escaping: a fifth of the time.
    text = f'{{"amount":"{price}","currency":"{currency}","in_stock":{stock},"promo":{promo}}}'
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def with_signatures(prices: pl.DataFrame) -> pl.DataFrame:
    """Prices that are to be written, with their `signature`."""
    said = prices.select("price", "original_price", "currency", "in_stock")
    signatures = [price_signature(*row[:3], in_stock=row[3]) for row in said.iter_rows()]
    return prices.with_columns(signature=pl.Series(signatures, dtype=pl.String))
