"""Prices, stock, currency and codes from texts, and the rows that are rejected."""

from decimal import Decimal

import polars as pl
import pytest

from tasks.catalogue.mapping import COLUMNS
from tasks.catalogue.money import SCALE
from tasks.catalogue.validate import with_values

GOOD = {"title": "Tent", "url": "https://shop.example/tent", "list_price": "10.00"}


def valued(*, decimal=".", **cells):
    """One row with these cells beside a title, an address and a list price, as read from a file."""
    row = {field: {**GOOD, **cells}.get(field) for field in COLUMNS}
    schema = {"row_number": pl.UInt32, **dict.fromkeys(COLUMNS, pl.String), "is_header": pl.Boolean}
    frame = pl.DataFrame([{"row_number": 2, "is_header": False, **row}], schema=schema)
    [result] = with_values(frame, decimal=decimal).to_dicts()
    return result


def text(amount):
    return None if amount is None else f"{Decimal(amount) / SCALE:.2f}"


@pytest.mark.spec("002 7.1.1")
@pytest.mark.parametrize(
    "sale, list_, original, price, before",
    [
        pytest.param("15.99", "18.99", None, "15.99", "18.99", id="sale over list, the list price as original"),
        pytest.param("15.99", "18.99", "21.00", "15.99", "21.00", id="an explicit original over the list price"),
        pytest.param(None, "18.99", None, "18.99", None, id="list only"),
        pytest.param(None, "18.99", "21.00", "18.99", "21.00", id="list and an explicit original"),
        pytest.param("15.99", None, None, "15.99", None, id="sale only"),
        pytest.param("15.99", None, "21.00", "15.99", "21.00", id="sale and an explicit original"),
        pytest.param("0.00", "18.99", None, "18.99", None, id="a sale price of zero is no sale"),
        pytest.param("0", "18.99", "21.00", "18.99", "21.00", id="no sale, an explicit original"),
        pytest.param("$0.00", "18.99", None, "18.99", None, id="zero with a sign is no sale"),
        pytest.param("15.99", "18.99", "call us", "15.99", None, id="an original that is no amount"),
        pytest.param("15.99", "18.99", "99,999,999,999.00", "15.99", None, id="an original that is none in earnest"),
        pytest.param("15.99", "99,999,999,999.00", None, "15.99", None, id="nor is such a list price"),
        pytest.param("15.99", "call us", None, "15.99", None, id="a list price that is no amount"),
        pytest.param("$15.99", "USD 18.99", None, "15.99", "18.99", id="with signs and codes"),
    ],
)
def test_price_table(sale, list_, original, price, before):
    row = valued(sale_price=sale, list_price=list_, original_price=original)
    assert (text(row["price"]), text(row["original_price"]), row["rejection"]) == (price, before, None)


@pytest.mark.parametrize(
    "price, code",
    [
        pytest.param("0", "INVALID_PRICE", id="zero"),
        pytest.param("0.00", "INVALID_PRICE", id="zero with decimals"),
        pytest.param("-5.00", "INVALID_PRICE", id="less than zero"),
        pytest.param("1.299,00", "AMBIGUOUS_PRICE", id="comma for decimals"),
        pytest.param("12,99", "AMBIGUOUS_PRICE", id="a comma that groups nothing"),
        pytest.param("1,2345.00", "INVALID_PRICE", id="a group of four"),
        pytest.param("1e3", "INVALID_PRICE", id="an exponent"),
        pytest.param("5.00-6.00", "INVALID_PRICE", id="a range"),
        pytest.param("from 5.00", "INVALID_PRICE", id="words"),
        pytest.param("1.23456", "INVALID_PRICE", id="more than four decimals"),
        pytest.param("99999999999", "INVALID_PRICE", id="more than ten digits"),
        pytest.param("10,000,000,000.00", "INVALID_PRICE", id="more than ten digits in groups"),
        pytest.param("9,999,999,999.99", None, id="ten digits in groups"),
        pytest.param("\N{FULLWIDTH DIGIT FIVE}.00", "INVALID_PRICE", id="full-width digits"),
    ],
)
def test_price_that_is_not_certain_is_rejected(price, code):
    """A comma for decimals would be an amount in another file, and that is what its code says."""
    assert valued(list_price=price)["rejection"] == code


@pytest.mark.parametrize("decimal, code", [(".", None), (None, "AMBIGUOUS_PRICE")], ids=["known", "unknown"])
def test_price_of_two_readings_needs_a_known_decimal_sign(decimal, code):
    assert valued(list_price="1,299", decimal=decimal)["rejection"] == code


@pytest.mark.spec("002 7.1.1")
@pytest.mark.parametrize(
    "said, upc",
    [
        pytest.param("020892215513", "020892215513", id="leading zero"),
        pytest.param("0 20892-21551 3", "020892215513", id="spaces and dashes"),
        pytest.param("00012345678905", "00012345678905", id="a GTIN of fourteen digits"),
        pytest.param('="020892215513"', "020892215513", id="as a formula of a spreadsheet"),
        pytest.param("20892215513.0", "20892215513", id="with the decimals of a spreadsheet"),
        pytest.param("2.08922E+11", None, id="rounded by a spreadsheet"),
        pytest.param("2,08922e11", None, id="rounded by another"),
        pytest.param("N/A", None, id="no digit at all"),
        pytest.param(None, None, id="none"),
    ],
)
def test_upc_keeps_its_digits(said, upc):
    assert valued(upc=said)["upc"] == upc


@pytest.mark.spec("002 7.1.1")
@pytest.mark.parametrize(
    "words, in_stock",
    [
        (("y", "yes", "true", "1", "in stock", "instock", "available"), True),
        (("low stock", "lowstock", "low_stock", "limited"), True),
        (("n", "no", "false", "0", "out of stock", "outofstock", "unavailable"), False),
        (("backordered", "preorder", "pre-order", "sold out", "discontinued"), False),
        (("InStock", "LimitedAvailability", "in_stock", "In-Stock"), True),
        (("OutofStock", "Out_Of_Stock", "out-of-stock", "BackOrder", "PreOrder", "Pre Order", "SoldOut"), False),
        (("perhaps", "17", None), True),
    ],
    ids=[
        "in stock",
        "few left",
        "out of stock",
        "cannot be had",
        "in stock, as networks say",
        "out of stock, as networks say",
        "unknown or silent means in stock",
    ],
)
def test_stock_words(words, in_stock):
    for word in words:
        for said in {word, word and word.upper(), word and word.title()}:
            assert valued(stock=said)["in_stock"] is in_stock, said


@pytest.mark.spec("002 7.1.1")
@pytest.mark.parametrize(
    "column, price, currency",
    [
        pytest.param(None, "10.00", "USD", id="default"),
        pytest.param("eur", "10.00", "EUR", id="small letters"),
        pytest.param("CAD", "10.00", "CAD", id="as it stands"),
        pytest.param(None, "€10.00", "EUR", id="a sign in the price"),
        pytest.param(None, "10.00 gbp", "GBP", id="a code in the price"),
        pytest.param(None, "$10.00 CAD", "CAD", id="a code says which dollar"),
        pytest.param(None, "CA$10.00", "CAD", id="a sign says which dollar"),
        pytest.param(None, "$10.00", "USD", id="a dollar"),
        pytest.param("AUD", "$10.00", "AUD", id="a dollar, and the column says which"),
        pytest.param("JPY", "¥1000", "JPY", id="a yen, and the column says which"),
        pytest.param("EUR", "EUR 10.00", "EUR", id="the same twice"),
    ],
)
def test_currency(column, price, currency):
    row = valued(currency=column, list_price=price)
    assert (row["currency"], row["rejection"]) == (currency, None)


@pytest.mark.parametrize(
    "column, price",
    [
        pytest.param("Dollar", "10.00", id="in words"),
        pytest.param("$", "10.00", id="a sign in the column"),
        pytest.param("XYZ", "10.00", id="three letters of no currency"),
        pytest.param("USD", "€10.00", id="another sign in the price"),
        pytest.param("USD", "10.00 EUR", id="another code in the price"),
        pytest.param(None, "€10.00 USD", id="a sign and a code that differ"),
        pytest.param(None, "10.00 abc", id="a code of no currency in the price"),
        pytest.param(None, "¥1000", id="a sign of two currencies"),
    ],
)
def test_currency_that_is_unknown_or_disputed_is_rejected(column, price):
    assert valued(currency=column, list_price=price)["rejection"] == "INVALID_CURRENCY"


@pytest.mark.parametrize(
    "cells, code",
    [
        pytest.param({"title": None}, "MISSING_TITLE", id="no title"),
        pytest.param({"url": None}, "MISSING_URL", id="no address"),
        pytest.param({"url": "www.shop.example/tent"}, "INVALID_URL", id="an address without a scheme"),
        pytest.param({"url": "ftp://shop.example/tent"}, "INVALID_URL", id="an address of another scheme"),
        pytest.param({"url": "https:///tent"}, "INVALID_URL", id="an address without a host"),
        pytest.param({"list_price": None}, "MISSING_PRICE", id="no price"),
        pytest.param({"list_price": None, "sale_price": "0"}, "MISSING_PRICE", id="a sale of zero and no list price"),
        pytest.param({"list_price": None, "original_price": "9"}, "MISSING_PRICE", id="an original price only"),
        pytest.param({"list_price": "call us"}, "INVALID_PRICE", id="a price in words"),
        pytest.param({"sale_price": "n/a"}, "INVALID_PRICE", id="a sale price in words"),
        pytest.param({"sku": "x" * 513}, "IDENTITY_TOO_LONG", id="a SKU that no index takes"),
        pytest.param({"impact_item_id": "é" * 257}, "IDENTITY_TOO_LONG", id="an item id that no index takes"),
        pytest.param({"title": None, "url": None, "list_price": None}, "MISSING_TITLE", id="the first of several"),
    ],
)
def test_row_is_rejected(cells, code):
    assert valued(**cells)["rejection"] == code


def test_address_in_capitals_is_valid():
    assert valued(url="HTTPS://SHOP.EXAMPLE/Tent")["rejection"] is None


def test_identity_of_512_bytes_is_taken():
    assert valued(sku="x" * 512, impact_item_id="é" * 256)["rejection"] is None
