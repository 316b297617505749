"""Which column of a file means what. Header names match whatever their case, spaces and underscores."""

from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl

from tasks.catalogue.parse import ROW, column
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
_NEEDED = {"title": {"title"}, "address": {"url"}, "price": {"sale_price", "list_price"}}


class ColumnsMissingError(IngestError):
    """The file lacks columns without which no product can be told from another or has no price."""

    code = "MISSING_COLUMNS"


@dataclass(frozen=True)
class Mapping:
    """The columns of a file that are used: of each field their positions, the best first."""

    header: tuple[str, ...]
    positions: dict[str, tuple[int, ...]]

    @property
    def wanted(self) -> list[str]:
        used = {position for places in self.positions.values() for position in places}
        return [column(position) for position in sorted(used)]

    def document(self) -> dict[str, list[str]]:
        """Field to column names, for the run's record."""
        return {name: [self.header[place] for place in places] for name, places in self.positions.items()}

    @property
    def unused(self) -> list[str]:
        used = {position for places in self.positions.values() for position in places}
        return [name for position, name in enumerate(self.header) if position not in used]


def folded(name: str) -> str:
    return "".join(name.lower().replace("_", " ").split())


def map_columns(header: Sequence[str]) -> Mapping:
    """Refuses a header without title, address or price."""
    places: dict[str, list[int]] = {}
    for position, name in enumerate(header):
        places.setdefault(folded(name), []).append(position)
    used = {
        field: tuple(place for name in names for place in places.get(folded(name), ()))
        for field, names in COLUMNS.items()
    }
    used = {field: found for field, found in used.items() if found}
    lacking = [word for word, fields in _NEEDED.items() if not fields & used.keys()]
    if lacking:
        message = f"the file has no column for the {' and the '.join(lacking)} of a product"
        raise ColumnsMissingError(message, hint=_what_is_there(header, is_header=bool(used)))
    return Mapping(tuple(header), used)


def _what_is_there(header: Sequence[str], *, is_header: bool) -> str:
    names = ("".join(character if character.isprintable() else " " for character in name) for name in header)
    shown = ", ".join(names)[:500]
    return f"its columns are: {shown}" if is_header else f"its first row does not look like a header: {shown}"


def with_fields(cells: pl.DataFrame, mapping: Mapping) -> pl.DataFrame:
    """The rows under the names of our fields, trimmed: of each row the best column that is not blank, or null."""
    trimmed = cells.select(ROW, *(_or_null(name) for name in mapping.wanted))
    fields = [
        pl.coalesce(column(place) for place in mapping.positions[field]).alias(field)
        if field in mapping.positions
        else pl.lit(None, dtype=pl.String).alias(field)
        for field in COLUMNS
    ]
    return trimmed.select(ROW, *fields, is_header=_repeats_header(mapping))


def _or_null(name: str) -> pl.Expr:
    text = pl.col(name).str.strip_chars()
    return pl.when(text != "").then(text).alias(name)


def _repeats_header(mapping: Mapping) -> pl.Expr:
    """Whether a row says nothing but the names of its columns, as files do that were joined from several."""
    needed = [mapping.positions[field][0] for field in ("title", "url")]
    same = [pl.col(column(place)) == mapping.header[place] for place in needed]
    return pl.all_horizontal(same).fill_null(value=False)
