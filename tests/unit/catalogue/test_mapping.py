"""Which column means what, whatever its case, spaces and underscores."""

import polars as pl
import pytest

from tasks.catalogue.mapping import COLUMNS, ColumnsMissingError, map_columns, with_fields
from tasks.catalogue.parse import ROW, column

NEEDED = {"title": "Name", "url": "Url", "list_price": "Price"}


def used(header):
    """Of each field the columns that are used for it, the best first."""
    return map_columns(header).document()


def fields(header, *rows):
    """The fields of rows under this header."""
    numbered = [(number, *row) for number, row in enumerate(rows, start=2)]
    schema = {ROW: pl.UInt32, **{column(place): pl.String for place in range(len(header))}}
    return with_fields(pl.DataFrame(numbered, schema=schema, orient="row"), map_columns(header))


# Field and headers in falling priority, as the specification lists them.
LISTED = [
    ("sale_price", ["SalePrice", "Sale Price", "CurrentPrice", "Current Price"]),
    ("list_price", ["Price", "price", "ListPrice", "List Price"]),
    ("original_price", ["OriginalPrice", "Original Price", "MSRP", "RetailPrice", "Retail Price"]),
    ("upc", ["Gtin", "GTIN", "UPC", "EAN", "ISBN", "upc", "gtin", "ean"]),
    ("title", ["Name", "ProductName", "Product Name", "title", "Title"]),
    ("url", ["Url", "URL", "ProductURL", "Product URL", "Link", "url", "link"]),
    ("sku", ["SKU", "MerchantSKU", "sku", "merchant_sku", "ProductSKU", "Unique Merchant SKU"]),
    ("impact_item_id", ["CatalogItemId", "ItemId", "item_id", "catalogItemId"]),
    ("brand", ["Manufacturer", "Brand", "brand", "manufacturer"]),
    ("image_url", ["ImageUrl", "ImageURL", "Image URL", "Image", "PrimaryImage"]),
    ("description", ["Description", "ProductDescription", "Product Description"]),
    ("category", ["Category", "ProductCategory", "category", "Product Type"]),
    ("currency", ["Currency", "CurrencyCode", "currency"]),
    ("stock", ["StockAvailability", "Stock Availability", "Availability", "InStock"]),
]  # fmt: skip


@pytest.mark.spec("002 7.1.1")
@pytest.mark.parametrize("field, header", [pytest.param(f, h, id=f"{h} is {f}") for f, names in LISTED for h in names])
def test_map_columns_knows_every_listed_header(field, header):
    others = [name for needed, name in NEEDED.items() if needed != field]
    needs_a_price = ["SalePrice"] if field == "list_price" else []
    assert used([header, *others, *needs_a_price])[field] == [header]


@pytest.mark.spec("002 7.1.1")
@pytest.mark.parametrize(
    "header",
    ["SalePrice", "saleprice", "SALE_PRICE", " Sale  Price ", "sale_Price", "Sale\u00a0Price"],
    ids=["as listed", "small", "capitals", "spaces", "underscore", "no-break space"],
)
def test_map_columns_is_blind_to_case_spaces_and_underscores(header):
    assert used([*NEEDED.values(), header])["sale_price"] == [header]


@pytest.mark.spec("002 7.1.1")
@pytest.mark.parametrize(
    "field, best, second",
    [
        ("sale_price", "SalePrice", "Current_Price"),
        ("list_price", "Price", "ListPrice"),
        ("original_price", "OriginalPrice", "MSRP"),
        ("upc", "Gtin", "UPC"),
        ("title", "Name", "Title"),
        ("sku", "SKU", "Unique_Merchant_SKU"),
        ("brand", "Manufacturer", "Brand"),
        ("stock", "Stock_Availability", "InStock"),
    ],
)
def test_map_columns_puts_the_best_of_several_first(field, best, second):
    rest = [name for name in ("Name", "Url", "Price") if name != best]
    assert used([second, best, *rest])[field][:2] == [best, second]
    assert used([best, second, *rest])[field][:2] == [best, second]


def test_map_columns_puts_the_first_of_two_of_one_name_first():
    assert used(["NAME", "name", "Url", "Price"])["title"] == ["NAME", "name"]


def test_map_columns_knows_the_headers_of_the_network():
    header = [
        "Unique_Merchant_SKU",
        "Product_Name",
        "Product_URL",
        "Current_Price",
        "Original_Price",
        "Stock_Availability",
    ]
    meant = ("sku", "title", "url", "sale_price", "original_price", "stock")
    assert used(header) == {field: [name] for field, name in zip(meant, header, strict=True)}


@pytest.mark.parametrize(
    "header, lacking",
    [
        pytest.param(["Url", "Price"], "the title of a product", id="no title"),
        pytest.param(["Name", "Price"], "the address of a product", id="no address"),
        pytest.param(["Name", "Url", "MSRP"], "the price of a product", id="only an original price"),
        pytest.param(["SKU", "Colour"], "the title and the address and the price", id="none of them"),
    ],
)
def test_map_columns_refuses_a_file_that_lacks(header, lacking):
    with pytest.raises(ColumnsMissingError, match=lacking) as refused:
        map_columns(header)
    assert refused.value.code == "MISSING_COLUMNS"
    assert ", ".join(header) in refused.value.hint


def test_map_columns_names_a_wide_header_in_short():
    with pytest.raises(ColumnsMissingError) as refused:
        map_columns([f"column {number}" for number in range(1_000)])
    assert len(refused.value.hint) <= 550


def test_map_columns_says_when_the_first_row_is_no_header():
    with pytest.raises(ColumnsMissingError) as refused:
        map_columns(["i-1", "Tent", "https://shop.example/1", "10.00"])
    assert "its first row does not look like a header: i-1, Tent, https" in refused.value.hint


def test_map_columns_shows_a_header_in_one_line():
    with pytest.raises(ColumnsMissingError) as refused:
        map_columns(["SKU", "Col\nour", "\x1b[31m"])
    assert refused.value.hint == "its columns are: SKU, Col our,  [31m"


def test_map_columns_tells_what_is_not_used():
    assert map_columns(["Name", "Url", "Price", "Colour", "", "Price"]).unused == ["Colour", ""]


def test_with_fields_trims_and_makes_blanks_null():
    made = fields(["Name", "Url", "Price"], ["  Tent\t", "u", ""], ["   ", "\n", "1"])
    assert made.columns == [ROW, *COLUMNS, "is_header"]
    assert made.select(ROW, "title", "url", "list_price", "brand").rows() == [
        (2, "Tent", "u", None, None),
        (3, None, None, "1", None),
    ]


@pytest.mark.spec("002 7.1.1")
def test_with_fields_takes_of_each_row_the_best_column_that_is_not_blank():
    header = ["Title", "Name", "Url", "ListPrice", "Price", "Price", "Current_Price", "Sale Price"]
    rows = [
        ["t", "n", "u", "1", "2", "3", "4", "5"],
        ["t", " ", "u", "1", "", "3", "4", ""],
        ["t", "", "u", "1", "", " ", "", ""],
    ]
    assert fields(header, *rows).select("title", "list_price", "sale_price").rows() == [
        ("n", "2", "5"),
        ("t", "3", "4"),
        ("t", "1", None),
    ]


def test_with_fields_knows_a_row_that_repeats_the_header():
    made = fields(["Name", "Url", "Price"], ["Name", " Url ", "Price"], ["Name", "https://a", "1"], ["", "", ""])
    assert made["is_header"].to_list() == [True, False, False]
