"""The hashes that are stored: fixed values, and what each of them tells apart."""

import polars as pl
import pytest

from tasks.catalogue import fingerprints
from tasks.catalogue.fingerprints import ATTRIBUTES, fingerprint, price_signature, with_hashes

PRODUCT = {
    "title": "Cirque 2P Tent \N{EN DASH} Crème",
    "url": "https://shop.example/p/1?color=cr%C3%A8me",
    "delivered_url": "https://northfork.pxf.io/c/1/2/3?u=https%3A%2F%2Fshop.example%2Fp%2F1",
    "image_url": "https://img.example/1.jpg",
    "impact_item_id": "100000077",
    "sku": "TNT-00000001",
    "normalized_url_hash": "ab" * 32,
    "upc": "020892215513",
    "brand": "Cairn & Co.",
    "category": "Camping > Tents",
    "description": None,
}
PRICE = {"price": "15.99", "original_price": "18.99", "currency": "USD", "in_stock": True}


def hashes(**over):
    row = {**PRODUCT, **PRICE, **over}
    [made] = with_hashes(pl.DataFrame([row], schema_overrides=dict.fromkeys(ATTRIBUTES, pl.String))).to_dicts()
    return made["fingerprint"], made["signature"]


def test_golden_values_of_version_1():
    """Stored with every product and price: another value would rewrite every product and append every price."""
    assert fingerprints.FINGERPRINT_VERSION == 1
    assert hashes() == (1_967_856_060_327_881_199, "bd75ba6d572d6da5eb5eb17e7c7280c5")
    assert fingerprint((None,) * len(ATTRIBUTES)) == 6_626_216_336_902_888_329
    assert price_signature("9.99", None, "EUR", in_stock=False) == "e2707109a227b99a9326fd2aebb11cc5"


@pytest.mark.parametrize("attribute", ATTRIBUTES)
def test_fingerprint_tells_a_change_of(attribute):
    changed, same = hashes(**{attribute: "another"})
    assert changed != hashes()[0]
    assert same == hashes()[1]


@pytest.mark.parametrize("attribute", ATTRIBUTES)
def test_fingerprint_tells_an_absent_from_an_empty(attribute):
    assert hashes(**{attribute: None})[0] != hashes(**{attribute: ""})[0]


def test_fingerprint_tells_which_attribute_holds_a_value():
    assert hashes(brand="Cairn", category=None)[0] != hashes(brand=None, category="Cairn")[0]


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
    same, changed = hashes(**over)
    assert changed != hashes()[1]
    assert same == hashes()[0]
    assert len(changed) == 32
