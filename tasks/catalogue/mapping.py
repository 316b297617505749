"""Which column of a file means what. Header names match whatever their case, spaces and underscores."""

from collections.abc import Iterable

import polars as pl

from tasks.catalogue.parse import ROW
from tasks.errors import IngestError

# Of each field the names that files use for it, the best first.
COLUMNS: dict[str, tuple[str, ...]] = {
    "sale_price": ("SalePrice", "CurrentPrice"),
    "list_price": ("Price", "ListPrice"),
    "original_price": ("OriginalPrice", "MSRP", "RetailPrice"),
    "upc": ("Gtin", "UPC", "EAN", "ISBN"),
    "title": ("Name", "ProductName", "Title"),
    "url": ("Url", "ProductURL", "Link"),
    "sku": ("SKU", "MerchantSKU", "ProductSKU", "UniqueMerchantSKU"),
    "impact_item_id": ("CatalogItemId", "ItemId"),
    "brand": ("Manufacturer", "Brand"),
    "image_url": ("ImageUrl", "Image", "PrimaryImage"),
    "description": ("Description", "ProductDescription"),
    "category": ("Category", "ProductCategory", "ProductType"),
    "currency": ("Currency", "CurrencyCode"),
    "stock": ("StockAvailability", "Availability", "InStock"),
}


class ColumnsMissingError(IngestError):
    """The file lacks columns without which no product can be told from another or has no price."""

    code = "MISSING_COLUMNS"


def folded(name: str) -> str:
    return "".join(name.lower().replace("_", " ").split())


def columns_used(header: Iterable[str]) -> dict[str, str]:
    """Field to column; refuses a header without title, address or price."""
    there: dict[str, str] = {}
    for name in header:
        there.setdefault(folded(name), name)
    used = {
        field: there[folded(name)]
        for field, names in COLUMNS.items()
        for name in reversed(names)
        if folded(name) in there
    }
    lacking = [word for word, fields in _NEEDED.items() if not fields & used.keys()]
    if lacking:
        message = f"the file has no column for the {' and the '.join(lacking)} of a product"
        raise ColumnsMissingError(message, hint=f"its columns are: {', '.join(there.values())}"[:500])
    return used


_NEEDED = {"title": {"title"}, "address": {"url"}, "price": {"sale_price", "list_price"}}


def with_fields(rows: pl.DataFrame, used: dict[str, str]) -> pl.DataFrame:
    """The rows under the names of our fields, trimmed, with null for what is blank or absent."""
    fields = [
        pl.col(used[field]).str.replace_all("\x00", "", literal=True).str.strip_chars().alias(field)
        if field in used
        else pl.lit(None, dtype=pl.String).alias(field)
        for field in COLUMNS
    ]
    blank_is_null = [pl.when(pl.col(field) != "").then(pl.col(field)).alias(field) for field in COLUMNS]
    return rows.select(pl.col(ROW).alias("row_number"), *fields).with_columns(blank_is_null)
