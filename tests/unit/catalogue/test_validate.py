"""Prices, stock, currency and codes from texts, and the rows that are rejected."""

import polars as pl
import pytest

from tasks.catalogue.mapping import COLUMNS
from tasks.catalogue.validate import with_values

GOOD = {"title": "Tent", "url": "https://shop.example/tent", "list_price": "10.00"}


def valued(**cells):
    """One row with these cells beside a title, an address and a list price, as read from a file."""
    row = {field: {**GOOD, **cells}.get(field) for field in COLUMNS}
    schema = {"row_number": pl.UInt32, **dict.fromkeys(COLUMNS, pl.String)}
    [result] = with_values(pl.DataFrame([{"row_number": 2, **row}], schema=schema)).to_dicts()
    return result


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
    ],
)
def test_price_table(sale, list_, original, price, before):
    row = valued(sale_price=sale, list_price=list_, original_price=original)
    assert (row["price"], row["original_price"], row["rejection"]) == (price, before, None)


@pytest.mark.parametrize(
    "text, amount",
    [
        ("10", "10.00"),
        ("10.5", "10.50"),
        ("10.00", "10.00"),
        ("100", "100.00"),
        ("0.01", "0.01"),
        ("1.2345", "1.2345"),
        ("1.2300", "1.23"),
        ("007.10", "7.10"),
        ("1,299.00", "1299.00"),
        ("1,234,567", "1234567.00"),
        ("$1,299.00", "1299.00"),
        ("USD 12.99", "12.99"),
        ("12.99 USD", "12.99"),
        ("12.99 usd", "12.99"),
        ("9999999999.9999", "9999999999.9999"),
    ],
)
def test_amount_is_exact(text, amount):
    assert valued(list_price=text)["price"] == amount


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("0", id="zero"),
        pytest.param("0.00", id="zero with decimals"),
        pytest.param("-5.00", id="less than zero"),
        pytest.param("1.299,00", id="comma for decimals"),
        pytest.param("12,99", id="a comma that groups nothing"),
        pytest.param("1,2345.00", id="a group of four"),
        pytest.param("1e3", id="an exponent"),
        pytest.param("5.00-6.00", id="a range"),
        pytest.param("from 5.00", id="words"),
        pytest.param("1.23456", id="more than four decimals"),
        pytest.param("99999999999", id="more than ten digits"),
        pytest.param("NaN", id="not a number"),
        pytest.param("\N{ARABIC-INDIC DIGIT FIVE}", id="a digit of another script"),
        pytest.param("\N{FULLWIDTH DIGIT FIVE}.00", id="full-width digits"),
    ],
)
def test_amount_that_is_not_certain_is_rejected(text):
    row = valued(list_price=text)
    assert row["rejection"] == "INVALID_PRICE"


@pytest.mark.spec("002 7.1.1")
@pytest.mark.parametrize(
    "text, upc",
    [
        pytest.param("020892215513", "020892215513", id="leading zero"),
        pytest.param("0 20892-21551 3", "020892215513", id="spaces and dashes"),
        pytest.param("00012345678905", "00012345678905", id="a GTIN of fourteen digits"),
        pytest.param("N/A", None, id="no digit at all"),
        pytest.param(None, None, id="none"),
    ],
)
def test_upc_keeps_its_digits(text, upc):
    assert valued(upc=text)["upc"] == upc


@pytest.mark.spec("002 7.1.1")
@pytest.mark.parametrize(
    "words, in_stock",
    [
        (("y", "yes", "true", "1", "in stock", "instock", "available"), True),
        (("low stock", "lowstock", "low_stock", "limited"), True),
        (("n", "no", "false", "0", "out of stock", "outofstock", "unavailable"), False),
        (("backordered", "preorder", "pre-order", "sold out", "discontinued"), False),
        (("perhaps", None), True),
    ],
    ids=["in stock", "few left", "out of stock", "cannot be had", "unknown or silent means in stock"],
)
def test_stock_words(words, in_stock):
    for word in words:
        for said in {word, word and word.upper(), word and word.title()}:
            assert valued(stock=said)["in_stock"] is in_stock, said


@pytest.mark.parametrize(
    "text, currency", [(None, "USD"), ("eur", "EUR"), ("CAD", "CAD")], ids=["default", "small letters", "as it stands"]
)
def test_currency(text, currency):
    row = valued(currency=text)
    assert (row["currency"], row["rejection"]) == (currency, None)


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
        pytest.param({"currency": "Dollar"}, "INVALID_CURRENCY", id="a currency in words"),
        pytest.param({"currency": "$"}, "INVALID_CURRENCY", id="a currency sign"),
        pytest.param({"title": None, "url": None, "list_price": None}, "MISSING_TITLE", id="the first of several"),
    ],
)
def test_row_is_rejected(cells, code):
    assert valued(**cells)["rejection"] == code


def test_address_in_capitals_is_valid():
    assert valued(url="HTTPS://SHOP.EXAMPLE/Tent")["rejection"] is None
