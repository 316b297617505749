"""Prices as files write them, to exact amounts: what is not certain is none."""

from decimal import Decimal

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tasks.catalogue import money
from tasks.catalogue.money import Evidence
from tests.delivered import lines, survey, write

GAPS = [" ", "'", "\u2019", "\u00a0", "\u202f"]


def amount(text, decimal="."):
    """In ten-thousandths, or None."""
    return money.amounts(pl.Series([text], dtype=pl.String), decimal)[0]


def evidence(*texts):
    found = Evidence()
    for text in texts:  # one by one: pieces of a file may be of any size
        found.add(pl.Series([text], dtype=pl.String))
    return found


@pytest.mark.parametrize(
    "text, expected",
    [
        ("10", 10), ("10.5", "10.5"), ("10.00", 10), ("0.01", "0.01"), ("1.2345", "1.2345"), ("1.2300", "1.23"),
        ("007.10", "7.1"), (".5", "0.5"), ("012.345", "12.345"), ("1.299", "1.299"), ("1,299", 1299),
        ("1,299.00", 1299),
        ("1,234,567", 1234567), ("1,234,567.8901", "1234567.8901"), ("9999999999.9999", "9999999999.9999"),
        ("$1,299.00", 1299), ("US$ 5", 5), ("USD 12.99", "12.99"), ("12.99 USD", "12.99"), ("12.99usd", "12.99"),
        ("$12.99 USD", "12.99"), ("€12.99", "12.99"), ("12.99 €", "12.99"), ("£1,000", 1000), ("₹1,000.5", "1000.5"),
        ("1 299.00", 1299), ("1 234 567.00", 1234567), ("CHF 1'299.00", 1299), ("1\u2019299.50", "1299.5"),
        ("1\u00a0299.00", 1299), ("1\u202f299.00", 1299),
    ],
)  # fmt: skip
def test_amount_is_exact(text, expected):
    assert Decimal(amount(text)) / money.SCALE == Decimal(expected)


@pytest.mark.parametrize(
    "text, expected",
    [("1.299,00", 1299), ("12,99", "12.99"), ("1.299", 1299), ("1,299", "1.299"), ("12.345.678,9", "12345678.9"),
     ("€ 1.299,00", 1299), ("1 299,50 €", "1299.5"), ("10", 10), ("0,5", "0.5")],
)  # fmt: skip
def test_amount_with_a_decimal_comma(text, expected):
    assert Decimal(amount(text, ",")) / money.SCALE == Decimal(expected)


@pytest.mark.parametrize("decimal", [".", ",", None])
@pytest.mark.parametrize(
    "text",
    ["-5.00", "1,2345.00", "1e3", "5.00-6.00", "from 5.00", "1.23456", "99999999999", "NaN", "5.", "", "$", "USD",
     "1..2", "1,29,999.00", "12 99", "\N{ARABIC-INDIC DIGIT FIVE}", "\N{FULLWIDTH DIGIT FIVE}.00",
     "5\N{SUPERSCRIPT TWO}", "(5.00)", "9" * 40, "inf", "0x10", "1_000", None],
)  # fmt: skip
def test_text_that_is_not_certainly_an_amount_is_none(text, decimal):
    assert amount(text, decimal) is None


@pytest.mark.parametrize("text", ["1" + ",000" * 7 + ".00", "1" + ",000" * 13 + ".00"], ids=["22 digits", "40 digits"])
def test_huge_amount_is_none(text):
    assert amount(text) is None


def test_amount_does_not_depend_on_its_neighbours():
    """A column of plain numbers takes a shorter way."""
    plain = ["10", "012.345", "00.123", "1.299", "0.5", "1234.567", "9999999999.9999", None]
    alone = [amount(text) for text in plain]
    assert None not in alone[:-1]
    assert money.amounts(pl.Series([*plain, "$5"]), ".").to_list() == [*alone, 50_000]
    assert money.amounts(pl.Series(plain), ".").to_list() == alone


@pytest.mark.parametrize(
    "texts, decimal",
    [
        pytest.param(["12.99"], ".", id="a point"),
        pytest.param(["12,99"], ",", id="a comma"),
        pytest.param(["1.299,00"], ",", id="a comma behind a point"),
        pytest.param(["1,299.00"], ".", id="a point behind a comma"),
        pytest.param(["1.299.000"], ",", id="two points"),
        pytest.param(["1,299", "1.299", "10", None, "call us"], None, id="nothing that tells"),
        pytest.param(["12.99"] * 100 + ["12,99"], None, id="a hundred to one is not certain"),
        pytest.param(["12.99"] * 101 + ["12,99"], ".", id="a hundred and one is"),
        pytest.param(["€12,99"] * 101 + ["12.99"], ",", id="so it is for commas"),
    ],
)
def test_evidence_of_the_whole_file_tells_the_decimal_sign(texts, decimal):
    assert evidence(*texts).decimal == decimal


@pytest.mark.parametrize(
    "texts, guess, wrong",
    [
        pytest.param(["10", "call us"], ".", False, id="nothing depends on it"),
        pytest.param(["12.99"], ".", False, id="it is right"),
        pytest.param(["1,299"], ".", True, id="it may be either"),
        pytest.param(["12,99"], ".", True, id="it is the other"),
        pytest.param(["12,99"], ",", False, id="it was mended"),
        pytest.param(["1,299"], None, False, id="it is known to be unknown"),
    ],
)
def test_evidence_contradicts_a_guess(texts, guess, wrong):
    assert evidence(*texts).contradicts(guess) is wrong


@pytest.mark.parametrize(
    "text, decimal, unsure",
    [("1,299", None, True), ("12,99", None, True), ("12.99", None, False), ("12,99", ".", True), ("12.99", ",", True),
     ("1,299", ".", False), ("call us", None, False), ("-5", None, False), (None, None, False)],
)  # fmt: skip
def test_is_ambiguous_what_would_be_an_amount_if_only_the_sign_were_known(text, decimal, unsure):
    assert money.is_ambiguous(pl.Series([text], dtype=pl.String), decimal)[0] is unsure


@pytest.mark.spec("002 7.1.1")
@pytest.mark.parametrize(
    "prices, products, rejected, decimal",
    [
        pytest.param(["12,99", "1.299"], [129_900, 12_990_000], {}, ",", id="commas, which tell what 1.299 is"),
        pytest.param(["12.99", "1.299"], [129_900, 12_990], {}, ".", id="points, which tell what 1.299 is"),
        pytest.param(["10", "1,299"], [100_000], {"AMBIGUOUS_PRICE": 1}, None, id="1,299 alone"),
        pytest.param(["12.99", "12,99"], [129_900], {"AMBIGUOUS_PRICE": 1}, None, id="one of each"),
        pytest.param(["12.99"] * 101 + ["12,99"], [129_900] * 101, {"AMBIGUOUS_PRICE": 1}, ".", id="one odd price"),
    ],
)
def test_decimal_sign_is_a_matter_of_the_whole_file(tmp_path, prices, products, rejected, decimal):
    rows = [f'i-{n},,Tent,https://a/{n},"{price}"' for n, price in enumerate(prices)]
    surveyed = survey(write(tmp_path, lines(*rows)))
    assert surveyed.products["price"].to_list() == products
    assert (surveyed.rejected_by_code, surveyed.reading.dialect.decimal) == (rejected, decimal)


@pytest.mark.parametrize(
    "text, code, sign",
    [("$5", None, None), ("5 CAD", "CAD", None), ("$5 cad", "CAD", None), ("€5", None, "EUR"), ("CA$5", None, "CAD"),
     ("£5 GBP", "GBP", "GBP"), ("¥5", None, "¥"), ("5.00", None, None), (None, None, None)],
)  # fmt: skip
def test_code_and_sign_of_a_price(text, code, sign):
    texts = pl.Series([text], dtype=pl.String)
    assert (money.code(texts)[0], money.sign(texts)[0]) == (code, sign)


@pytest.mark.parametrize(
    "value, text", [(100_000, "10.00"), (12_345, "1.2345"), (12_300, "1.23"), (1, "0.0001"), (None, None)]
)  # fmt: skip
def test_text_of_an_amount_has_two_to_four_decimals(value, text):
    assert pl.DataFrame({"price": [value]}, schema={"price": pl.Int64}).select(money.text_of("price")).item() == text


amounts = st.decimals(min_value=0, max_value=Decimal("9999999999.99"), places=2)
signs = st.sampled_from(["", "$", "€", "USD ", "US$", "£ "])


def grouped(value, decimal, gap):
    whole, _, rest = f"{value:,.2f}".partition(".")
    return whole.replace(",", gap) + decimal + rest


@settings(max_examples=60, deadline=None)
@given(value=amounts, decimal=st.sampled_from([".", ","]), gap=st.sampled_from(["", *GAPS, "other"]), sign=signs)
def test_amount_of_a_written_decimal_is_that_decimal(value, decimal, gap, sign):
    gap = {".": ",", ",": "."}[decimal] if gap == "other" else gap
    text = f"{sign}{grouped(value, decimal, gap)}"
    assert amount(text, decimal) == int(value * money.SCALE), text
    assert amount(text, {".": ",", ",": "."}[decimal]) is None  # two decimals are never a group
    assert evidence(text).decimal == decimal
    stored = pl.DataFrame({"price": [amount(text, decimal)]}).select(money.text_of("price")).item()
    assert Decimal(stored) == value


@settings(max_examples=60, deadline=None)
@given(text=st.text(alphabet="0159.,' $€USD-e\u00a0", max_size=14))
def test_amount_of_any_text_is_an_amount_or_none(text):
    found = {decimal: amount(text, decimal) for decimal in (".", ",", None)}
    assert all(value is None or value >= 0 for value in found.values())
    if found[None] is not None:
        assert found[None] == found["."]
        assert not money.is_ambiguous(pl.Series([text]), None)[0]
