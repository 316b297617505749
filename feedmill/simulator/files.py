"""A catalogue as a product file of the Impact network: columns, links, delimiters, gzip.

A damaged file is made here: damaged values and columns between `feed_rows` and `write_rows`, damaged bytes after.
"""

import csv
import gzip
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from io import TextIOWrapper
from pathlib import Path
from typing import TextIO
from urllib.parse import quote

from feedmill.simulator.catalogue import CURRENCY, Catalogue, Product

Row = tuple[str, ...]

_HEADERS = (
    "CatalogItemId",
    "Unique_Merchant_SKU",
    "Product_Name",
    "Product_URL",
    "Image_URL",
    "Current_Price",
    "Original_Price",
    "Stock_Availability",
    "Currency",
    "Gtin",
    "Manufacturer",
    "Category",
    "Description",
)
# How many columns a style leaves out at the left: without CatalogItemId a product is known by its SKU only.
_SKIPPED = {"impact": 0, "impact-sku": 1}
_LINK = "https://northfork.pxf.io/c/12345/67890/1234"
_TRACKING = "&utm_source=impact&utm_medium=affiliate"


def write_csv(
    catalogue: Catalogue, path: Path, *, style: str = "impact", delimiter: str = ",", redirect: bool = True
) -> int:
    """Number of products written. With a path that ends in .gz the file is compressed, the same bytes every time."""
    return write_rows(feed_rows(catalogue, style=style, redirect=redirect), path, delimiter=delimiter) - 1


def feed_rows(catalogue: Catalogue, *, style: str = "impact", redirect: bool = True) -> Iterator[Row]:
    """The header, then a row per product; links are Impact redirects or plain product pages."""
    skipped = _SKIPPED[style]
    yield _HEADERS[skipped:]
    for product in catalogue.products:
        yield _row(product, link=impact_link(product) if redirect else product.url)[skipped:]


def write_rows(rows: Iterable[Row], path: Path, *, delimiter: str = ",") -> int:
    """Number of rows written: quoted as RFC 4180 has it, and not at all if tabs separate them."""
    count = 0
    with _text_file(path) as text:
        if delimiter == "\t":
            writer = csv.writer(text, delimiter="\t", quoting=csv.QUOTE_NONE, quotechar=None, lineterminator="\n")
        else:
            writer = csv.writer(text, delimiter=delimiter, lineterminator="\n")
        for count, row in enumerate(rows, start=1):  # noqa: B007 - the last value is the result
            writer.writerow(row)
    return count


def impact_link(product: Product) -> str:
    target = quote(product.url + _TRACKING, safe="")
    return f"{_LINK}?prodsku={product.sku}&u={target}&intsrc=CATF_1234"


def money(cents: int) -> str:
    return f"{cents // 100}.{cents % 100:02d}"


def _row(product: Product, *, link: str) -> Row:
    model = product.model
    return (
        product.item_id,
        product.sku,
        product.title,
        link,
        product.image_url,
        money(product.price_cents),
        money(product.list_cents),
        "Y" if product.in_stock else "N",
        CURRENCY,
        product.gtin,
        model.brand.name,
        model.line.category,
        model.description,
    )


@contextmanager
def _text_file(path: Path) -> Iterator[TextIO]:
    with path.open("wb") as file:
        if path.suffix != ".gz":
            with TextIOWrapper(file, encoding="utf-8", newline="") as text:
                yield text
            return
        # Without name and time in its header the same content gives the same bytes.
        with (
            gzip.GzipFile(filename="", mode="wb", compresslevel=6, fileobj=file, mtime=0) as packed,
            TextIOWrapper(packed, encoding="utf-8", newline="") as text,
        ):
            yield text
