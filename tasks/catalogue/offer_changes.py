"""What the gates count, from frames: the shelf as it shows and a file as it was read. Phase two counts it in Postgres.

For whoever has both at hand and no run: a test holds the two to the same figures.
"""

import polars as pl

from db.enums import IdentityType
from tasks.catalogue.breaker import FACTORS, NEAR, Counts, OfferChanges
from tasks.catalogue.identity import KEY

_UNIT = 1_000  # factors and their borders are whole numbers of these: 0.001 is one
_BORDER = 10


def counts_of(shelf: pl.DataFrame, file: pl.DataFrame) -> Counts:
    """Frames of a row per product: `KEY`, `price` (ten-thousandths), `currency`, `in_stock`."""
    kept = shelf.join(file, on=KEY, how="inner", suffix="_after")
    return Counts(
        on_shelf=shelf.height,
        seen=kept.height,
        products=file.height,
        url_hash_fallbacks=file.filter(pl.col("identity_type") == IdentityType.URL_HASH.value).height,
        changes=changes_of(kept),
    )


def changes_of(kept: pl.DataFrame) -> OfferChanges:
    """Of the products that stay: `price`, `currency` and `in_stock` as they show, and the same with `_after`."""
    same = kept.filter(pl.col("currency") == pl.col("currency_after"))
    by_factor = {factor: same.filter(_is_near(factor)).height for factor in FACTORS}
    stocked = kept.filter(pl.col("in_stock"))
    return OfferChanges(
        by_factor={factor: count for factor, count in by_factor.items() if count},
        currency_changed=kept.height - same.height,
        in_stock_before=stocked.height,
        sold_out=stocked.filter(~pl.col("in_stock_after")).height,
    )


def _is_near(factor: str) -> pl.Expr:
    """Whole numbers on both sides, so that a price on the border falls on the same side as in Postgres."""
    times, tenths = round(float(factor) * _UNIT), round(float(NEAR) * _BORDER)
    after, before = pl.col("price_after") * _UNIT * _BORDER, pl.col("price") * times
    return (after >= before * (_BORDER - tenths)) & (after < before * (_BORDER + tenths))
