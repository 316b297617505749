"""The hashes that are stored: fixed values, and what each of them tells apart."""

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tasks.catalogue.fingerprints import (
    DELIVERED,
    FINGERPRINT_VERSION,
    fingerprints,
    price_signature,
    with_signatures,
)

PRODUCT = {
    "title": "Cirque 2P Tent \N{EN DASH} Crème",
    "url": "https://northfork.pxf.io/c/1/2/3?u=https%3A%2F%2Fshop.example%2Fp%2F1",
    "image_url": "https://img.example/1.jpg",
    "impact_item_id": "100000077",
    "sku": "TNT-00000001",
    "upc": "020892215513",
    "brand": "Cairn & Co.",
    "category": "Camping > Tents",
    "description": None,
}
PRICE = {"price": "15.99", "original_price": "18.99", "currency": "USD", "in_stock": True}


def fingerprint(**over):
    return fingerprints(pl.DataFrame([{**PRODUCT, **over}], schema=dict.fromkeys(DELIVERED, pl.String)))[0]


def signature(**over):
    return with_signatures(pl.DataFrame([{**PRICE, **over}]))["signature"][0]


def test_golden_values_of_version_2():
    """Stored with every product and price: another value would rewrite every product and append every price."""
    assert FINGERPRINT_VERSION == 2
    assert fingerprint() == -2_782_512_572_566_067_462
    assert fingerprint(**dict.fromkeys(DELIVERED)) == -8_968_594_501_193_651_782
    assert signature() == "bd75ba6d572d6da5eb5eb17e7c7280c5"
    assert price_signature("9.99", None, "EUR", in_stock=False) == "e2707109a227b99a9326fd2aebb11cc5"


@pytest.mark.parametrize("attribute", DELIVERED)
def test_fingerprint_tells_a_change_of(attribute):
    assert fingerprint(**{attribute: "another"}) != fingerprint()


@pytest.mark.parametrize("attribute", DELIVERED)
def test_fingerprint_tells_which_attribute_holds_a_value(attribute):
    alone = dict.fromkeys(DELIVERED)
    others = {fingerprint(**{**alone, name: "x"}) for name in DELIVERED if name != attribute}
    assert fingerprint(**{**alone, attribute: "x"}) not in others


@pytest.mark.parametrize(
    "one, other",
    [
        pytest.param(("ab", "c"), ("a", "bc"), id="a letter on the other side"),
        pytest.param(("a\x1fb", "c"), ("a", "b\x1fc"), id="a separator within a text"),
        pytest.param(("a,b", "c"), ("a", ",bc"), id="a comma within a text"),
        pytest.param(("a1", "1"), ("a", "11"), id="digits, which lengths are made of"),
        pytest.param(("a1,1,", None), ("a", "1,1,"), id="what looks like lengths"),
    ],
)
def test_fingerprint_is_not_misled_by_what_a_text_holds(one, other):
    alone = dict.fromkeys(DELIVERED)
    texts = [fingerprint(**{**alone, "category": pair[0], "description": pair[1]}) for pair in (one, other)]
    assert texts[0] != texts[1]


cells = st.lists(st.none() | st.text(alphabet="01,9a", min_size=1, max_size=4), min_size=9, max_size=9).map(tuple)


@settings(max_examples=25, deadline=None)
@given(rows=st.lists(cells, min_size=2, max_size=20, unique=True))
def test_fingerprints_of_different_rows_differ(rows):
    frame = pl.DataFrame(rows, schema=dict.fromkeys(DELIVERED, pl.String), orient="row")
    found = fingerprints(frame)
    assert found.n_unique() == len(rows)
    assert found.to_list() == [fingerprints(frame[place])[0] for place in range(len(rows))]  # each by itself


@pytest.mark.spec("002 4.2")
@pytest.mark.parametrize(
    "over",
    [
        {"price": "16.99"},
        {"original_price": "19.99"},
        {"original_price": None},
        {"currency": "CAD"},
        {"in_stock": False},
    ],
    ids=["amount", "original price", "no original price", "currency", "stock"],
)
def test_signature_tells_a_change_of(over):
    """Of everything that a price row says: a product that sells out must not stay available until the heartbeat."""
    assert signature(**over) != signature()
    assert len(signature(**over)) == 32
