"""Which column means what, whatever its case, spaces and underscores."""

import polars as pl
import pytest

from tasks.catalogue.mapping import COLUMNS, ColumnsMissingError, columns_used, with_fields
from tasks.catalogue.parse import ROW

NEEDED = {"title": "Name", "url": "Url", "list_price": "Price"}

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
def test_columns_used_knows_every_listed_header(field, header):
    others = [name for needed, name in NEEDED.items() if needed != field]
    needs_a_price = ["SalePrice"] if field == "list_price" else []
    assert columns_used([header, *others, *needs_a_price])[field] == header


@pytest.mark.spec("002 7.1.1")
@pytest.mark.parametrize(
    "header",
    ["SalePrice", "saleprice", "SALE_PRICE", " Sale  Price ", "sale_Price", "Sale\u00a0Price"],
    ids=["as listed", "small", "capitals", "spaces", "underscore", "no-break space"],
)
def test_columns_used_is_blind_to_case_spaces_and_underscores(header):
    assert columns_used([*NEEDED.values(), header])["sale_price"] == header


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
def test_columns_used_takes_the_best_of_several(field, best, second):
    rest = ["Name", "Url", "Price"]
    assert columns_used([second, best, *rest])[field] == best
    assert columns_used([best, second, *rest])[field] == best


def test_columns_used_takes_the_first_of_two_that_differ_in_case_only():
    assert columns_used(["NAME", "name", "Url", "Price"])["title"] == "NAME"


def test_columns_used_knows_the_headers_of_the_network():
    header = [
        "Unique_Merchant_SKU",
        "Product_Name",
        "Product_URL",
        "Current_Price",
        "Original_Price",
        "Stock_Availability",
    ]
    fields = ("sku", "title", "url", "sale_price", "original_price", "stock")
    assert columns_used(header) == dict(zip(fields, header, strict=True))


@pytest.mark.parametrize(
    "header, lacking",
    [
        pytest.param(["Url", "Price"], "the title of a product", id="no title"),
        pytest.param(["Name", "Price"], "the address of a product", id="no address"),
        pytest.param(["Name", "Url", "MSRP"], "the price of a product", id="only an original price"),
        pytest.param(["SKU", "Colour"], "the title and the address and the price", id="none of them"),
    ],
)
def test_columns_used_refuses_a_file_that_lacks(header, lacking):
    with pytest.raises(ColumnsMissingError, match=lacking) as refused:
        columns_used(header)
    assert refused.value.code == "MISSING_COLUMNS"
    assert ", ".join(header) in refused.value.hint


def test_columns_used_names_a_wide_header_in_short():
    with pytest.raises(ColumnsMissingError) as refused:
        columns_used(f"column {number}" for number in range(1_000))
    assert len(refused.value.hint) <= 500


def test_with_fields_trims_and_makes_blanks_null():
    rows = pl.DataFrame({ROW: [2, 3], "Name": ["  Tent\t", "   "], "Url": ["u", None], "Price": ["", "1"]})
    fields = with_fields(rows, columns_used(["Name", "Url", "Price"]))
    assert fields.columns == ["row_number", *COLUMNS]
    assert fields.select("row_number", "title", "url", "list_price", "brand").rows() == [
        (2, "Tent", "u", None, None),
        (3, None, None, "1", None),
    ]


def test_with_fields_drops_what_postgres_cannot_store():
    rows = pl.DataFrame({ROW: [2], "Name": ["Te\x00nt"], "Url": ["\x00"], "Price": ["1"]})
    fields = with_fields(rows, columns_used(["Name", "Url", "Price"]))
    assert fields.select("title", "url").rows() == [("Tent", None)]
