"""From texts to values: prices, stock, currency, codes. A row without a valid value gets a code of rejection."""

import polars as pl

DEFAULT_CURRENCY = "USD"

_OUT_OF_STOCK = (
    "n",
    "no",
    "false",
    "0",
    "out of stock",
    "outofstock",
    "unavailable",
    "backordered",
    "backorder",
    "preorder",
    "pre-order",
    "sold out",
    "discontinued",
)  # fmt: skip - a list of words; any other means in stock

_SIGN = r"^(?:[A-Za-z]{3}|[$€£¥])\s*|\s*(?:[A-Za-z]{3}|[$€£¥])$"
_GROUPED = r"^[0-9]{1,3}(?:,[0-9]{3})+(?:\.[0-9]{1,4})?$"  # not \d, which knows the digits of every script
_PLAIN = r"^[0-9]{1,10}(?:\.[0-9]{1,4})?$"


def money(text: pl.Expr) -> pl.Expr:
    """An exact amount with two to four decimals as text, or null for what is not certainly one."""
    bare = text.str.replace_all(_SIGN, "")
    plain = pl.when(bare.str.contains(_GROUPED)).then(bare.str.replace_all(",", "", literal=True)).otherwise(bare)
    exact = pl.when(plain.str.contains(_PLAIN)).then(plain).cast(pl.Decimal(18, 4)).cast(pl.String)
    return exact.str.replace(r"0{1,2}$", "")


def with_values(rows: pl.DataFrame) -> pl.DataFrame:
    """The rows with `price`, `original_price`, `currency`, `in_stock`, `upc`, and `rejection` where one is due."""
    sale, list_ = pl.col("sale_price"), pl.col("list_price")
    on_sale = sale.is_not_null() & (money(sale) != "0.00").fill_null(value=True)  # a sale price of zero is no sale
    told = pl.when(on_sale).then(sale).otherwise(list_)
    stock = pl.col("stock").str.to_lowercase()
    valued = rows.with_columns(
        told_price=told,
        price=money(told),
        original_price=money(pl.coalesce("original_price", pl.when(on_sale).then(list_))),
        currency=pl.col("currency").str.to_uppercase().fill_null(DEFAULT_CURRENCY),
        in_stock=~stock.is_in(_OUT_OF_STOCK).fill_null(value=False),
        upc=pl.col("upc").str.replace_all(r"[^0-9]", "").replace("", None),
    )
    return valued.with_columns(rejection=_rejection())


def _rejection() -> pl.Expr:
    """The first reason to reject a row, or null."""
    return pl.coalesce(
        pl.when(pl.col("title").is_null()).then(pl.lit("MISSING_TITLE")),
        pl.when(pl.col("url").is_null()).then(pl.lit("MISSING_URL")),
        pl.when(~pl.col("url").str.contains(r"^(?i)https?://[^/?#\s]+")).then(pl.lit("INVALID_URL")),
        pl.when(pl.col("told_price").is_null()).then(pl.lit("MISSING_PRICE")),
        pl.when(pl.col("price").is_null() | (pl.col("price") == "0.00")).then(pl.lit("INVALID_PRICE")),
        pl.when(~pl.col("currency").str.contains(r"^[A-Z]{3}$")).then(pl.lit("INVALID_CURRENCY")),
    )
