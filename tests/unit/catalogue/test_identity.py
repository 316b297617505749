"""Which product a row is about, and where it lives."""

import polars as pl
import pytest

from tasks.catalogue.diff import state_schema
from tasks.catalogue.identity import last_of_each, upgrades, with_addresses, with_identity
from tasks.catalogue.links import url_hash

PAGE = "https://shop.example/Tent"


def identified(*rows):
    """Identity of rows given as item id, SKU and address."""
    schema = {"row_number": pl.UInt32, "impact_item_id": pl.String, "sku": pl.String, "url": pl.String}
    numbered = [(number, *row) for number, row in enumerate(rows, start=2)]
    return with_addresses(with_identity(pl.DataFrame(numbered, schema=schema, orient="row")))


def known(*identities):
    """The state of a source that has these products, given as type and value."""
    schema = state_schema()
    rows = [
        dict.fromkeys(schema) | {"product_id": number, "identity_type": kind, "identity_value": value}
        for number, (kind, value) in enumerate(identities)
    ]
    return pl.DataFrame(rows, schema=schema)


def upgraded(new, *identities):
    return upgrades(new, known(*identities)).select("row_number", "identity_value", "old_type", "old_value").rows()


@pytest.mark.spec("002 3.1")
@pytest.mark.parametrize(
    "item, sku, kind, value",
    [
        pytest.param("i-1", "s-1", "IMPACT_ITEM_ID", "i-1", id="the network's item id first"),
        pytest.param("i-1", None, "IMPACT_ITEM_ID", "i-1", id="an item id alone"),
        pytest.param(None, "s-1", "SKU", "s-1", id="then the SKU"),
        pytest.param(None, None, "URL_HASH", url_hash(PAGE), id="then the hash of the address"),
    ],
)
def test_identity_priority(item, sku, kind, value):
    [row] = identified((item, sku, PAGE)).to_dicts()
    assert (row["identity_type"], row["identity_value"]) == (kind, value)


@pytest.mark.spec("002 3.5")
def test_identity_keeps_what_it_was_not_taken_from():
    link = f"{PAGE}/?utm_source=x"
    [row] = identified(("i-1", "s-1", link)).to_dicts()
    assert (row["impact_item_id"], row["sku"], row["normalized_url_hash"]) == ("i-1", "s-1", url_hash(PAGE))
    assert (row["url"], row["delivered_url"]) == (PAGE, link)


def test_identity_of_an_address_that_cannot_be_taken_apart_is_the_address_itself():
    [row] = identified((None, None, "https://[shop/Tent")).to_dicts()
    assert row["url"] == row["delivered_url"] == "https://[shop/Tent"
    assert row["identity_value"] == url_hash("https://[shop/Tent")


def test_identity_keeps_the_rows_in_their_order():
    rows = identified(*[(f"i-{n}", None, PAGE) for n in (3, 1, 2)])
    assert rows["identity_value"].to_list() == ["i-3", "i-1", "i-2"]


@pytest.mark.spec("002 7.5")
def test_last_of_each_takes_the_last_row_over_the_whole_file():
    rows = identified(("i-1", None, f"{PAGE}/1"), ("i-2", None, PAGE), ("i-1", None, f"{PAGE}/2"), (None, "i-1", PAGE))
    last = last_of_each(rows).sort("row_number")
    assert last.select("row_number", "identity_type", "url").rows() == [
        (3, "IMPACT_ITEM_ID", PAGE),
        (4, "IMPACT_ITEM_ID", f"{PAGE}/2"),
        (5, "SKU", PAGE),
    ]


@pytest.mark.spec("002 3.3")
@pytest.mark.parametrize(
    "row, before, told",
    [
        pytest.param(("i-1", "s-1", PAGE), ("SKU", "s-1"), ("i-1", "SKU", "s-1"), id="a SKU that got an item id"),
        pytest.param(
            ("i-1", None, PAGE), ("URL_HASH", url_hash(PAGE)), ("i-1", "URL_HASH", url_hash(PAGE)),
            id="an address that got an item id",
        ),
        pytest.param(
            (None, "s-1", f"{PAGE}?utm_source=x"), ("URL_HASH", url_hash(PAGE)), ("s-1", "URL_HASH", url_hash(PAGE)),
            id="an address that got a SKU, with other tracking",
        ),
        pytest.param((None, "s-1", PAGE), ("SKU", "s-2"), None, id="another SKU"),
        pytest.param(("i-1", None, PAGE), ("SKU", "i-1"), None, id="the same value of another kind"),
        pytest.param((None, "s-1", PAGE), ("IMPACT_ITEM_ID", "s-1"), None, id="an item id that was lost"),
        pytest.param((None, None, PAGE), ("URL_HASH", url_hash(PAGE)), None, id="the same address"),
    ],
)  # fmt: skip
def test_upgrades_tell_new_products_that_are_known_under_a_lesser_identity(row, before, told):
    assert upgraded(identified(row), before) == ([(2, *told)] if told else [])


@pytest.mark.spec("002 3.3")
def test_upgrades_tell_each_product_once_and_the_better_of_two():
    new = identified(("i-1", "s-1", PAGE), ("i-2", "s-2", f"{PAGE}/2"))
    assert upgraded(new, ("URL_HASH", url_hash(PAGE)), ("SKU", "s-1"), ("SKU", "s-9")) == [(2, "i-1", "SKU", "s-1")]


def test_identity_of_no_rows_is_no_identity():
    assert identified().height == 0
