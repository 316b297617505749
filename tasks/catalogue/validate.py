"""From texts to values: prices, stock, currency, codes. A row without a valid value gets a code of rejection."""

from functools import cache

import polars as pl
import pycountry

from tasks.catalogue import money

DEFAULT_CURRENCY = "USD"
MOST_IDENTITY_BYTES = 512  # an index of Postgres takes 2,700 bytes at most, and no SKU is that long
LARGEST = 10_000_000_000 * money.SCALE

# Folded: lower case, without spaces, hyphens and underscores. Any other word means in stock.
_OUT_OF_STOCK = (
    "n",
    "no",
    "false",
    "0",
    "outofstock",
    "unavailable",
    "backordered",
    "backorder",
    "preorder",
    "preordered",
    "soldout",
    "discontinued",
)  # fmt: skip - a list of words


@cache
def currencies() -> pl.Enum:
    """The codes of ISO 4217."""
    return pl.Enum(sorted(currency.alpha_3 for currency in pycountry.currencies))


def with_values(rows: pl.DataFrame, *, decimal: str | None) -> pl.DataFrame:
    """The rows with `price`, `original_price` (ten-thousandths), `currency`, `in_stock`, `upc`, and `rejection`."""
    sale = money.amounts(rows["sale_price"], decimal)
    list_ = money.amounts(rows["list_price"], decimal)
    on_sale = pl.col("sale_price").is_not_null() & (pl.col("sale") != 0).fill_null(value=True)  # zero is no sale
    told = pl.when(on_sale).then("sale_price").otherwise("list_price")
    valued = rows.with_columns(
        sale=sale, list=list_, told_original=money.amounts(rows["original_price"], decimal)
    ).with_columns(
        told_price=told,
        price=pl.when(on_sale).then("sale").otherwise("list"),
        original_price=pl.when(pl.col("original_price").is_not_null())
        .then(_if_sane("told_original"))
        .otherwise(pl.when(on_sale).then(_if_sane("list"))),
        in_stock=~_folded("stock").is_in(_OUT_OF_STOCK).fill_null(value=False),
        upc=_code("upc"),
    )
    return valued.with_columns(is_ambiguous=_ambiguous(valued, decimal), **_currency(valued)).with_columns(
        rejection=_rejection()
    )


def _if_sane(amount: str) -> pl.Expr:
    return pl.when(pl.col(amount) < LARGEST).then(amount)


def _ambiguous(valued: pl.DataFrame, decimal: str | None) -> pl.Expr | pl.Series:
    if not valued["price"].null_count():
        return pl.lit(value=False)
    return money.is_ambiguous(valued["told_price"], decimal)


def _folded(name: str) -> pl.Expr:
    return pl.col(name).str.to_lowercase().str.replace_all(r"[\s_-]", "")


def _code(name: str) -> pl.Expr:
    """Digits with their leading zeros; not what a spreadsheet made a number of (2.08922E+11, 20892215513.0)."""
    digits = pl.col(name).str.replace(r"^([0-9]+)\.0+$", "$1").str.replace_all(r"[^0-9]", "")
    return pl.when((digits != "") & ~pl.col(name).str.contains(r"^[0-9.,]+[eE]\+?[0-9]+$")).then(digits).alias(name)


def _currency(valued: pl.DataFrame) -> dict[str, pl.Expr | pl.Series]:
    """What the column says, else the price's own code or sign, else dollars; `is_currency` false where they differ."""
    column = pl.col("currency").str.to_uppercase()
    code = sign = pl.lit(None, dtype=pl.String)
    if not valued["told_price"].drop_nulls().str.contains(r"^[0-9.,]*$").all():
        code, sign = pl.lit(money.code(valued["told_price"])), pl.lit(money.sign(valued["told_price"]))
    told = pl.coalesce(column, code)
    differs = (column != code).fill_null(value=False) | ((told != sign) & (sign != "¥")).fill_null(value=False)
    currency = pl.coalesce(told, sign, pl.lit(DEFAULT_CURRENCY))
    return {"currency": currency.cast(currencies(), strict=False), "is_currency": ~differs}


def _rejection() -> pl.Expr:
    """The first reason to reject a row, or null."""
    price, url = pl.col("price"), pl.col("url")
    too_long = pl.max_horizontal(pl.col("impact_item_id", "sku").str.len_bytes()) > MOST_IDENTITY_BYTES
    reasons = {
        "REPEATED_HEADER": pl.col("is_header"),
        "MISSING_TITLE": pl.col("title").is_null(),
        "MISSING_URL": url.is_null(),
        "INVALID_URL": ~url.str.contains(r"^(?i)https?://[^/?#\s]+"),
        "MISSING_PRICE": pl.col("told_price").is_null(),
        "AMBIGUOUS_PRICE": price.is_null() & pl.col("is_ambiguous"),
        "INVALID_PRICE": price.is_null() | (price == 0) | (price >= LARGEST),
        "INVALID_CURRENCY": pl.col("currency").is_null() | ~pl.col("is_currency"),
        "IDENTITY_TOO_LONG": too_long.fill_null(value=False),
    }
    return pl.coalesce(pl.when(found).then(pl.lit(code)) for code, found in reasons.items())
