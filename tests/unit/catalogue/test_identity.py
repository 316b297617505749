"""Which product a row is about, and where it lives."""

import hashlib

import polars as pl
import pytest

from tasks.catalogue.identity import canonical_url, last_of_each, url_hash, with_identity

PAGE = "https://shop.example/Tent"
IMPACT = "https://northfork.pxf.io/c/12345/67890/1234"


def identified(*rows):
    """Identity of rows given as item id, SKU and address."""
    schema = {"row_number": pl.UInt32, "impact_item_id": pl.String, "sku": pl.String, "url": pl.String}
    numbered = [(number, *row) for number, row in enumerate(rows, start=2)]
    return with_identity(pl.DataFrame(numbered, schema=schema, orient="row"))


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


@pytest.mark.spec("002 3.4")
@pytest.mark.parametrize(
    "url, canonical",
    [
        pytest.param("HTTPS://Shop.EXAMPLE/Tent", PAGE, id="scheme and host in small letters, the path as it is"),
        pytest.param(f"{PAGE}/", PAGE, id="no slash at the end"),
        pytest.param("https://shop.example/", "https://shop.example", id="not even behind the host"),
        pytest.param(f"{PAGE}/?size=2", f"{PAGE}?size=2", id="nor before parameters"),
        pytest.param(f"{PAGE}?b=2&a=1", f"{PAGE}?a=1&b=2", id="parameters sorted"),
        pytest.param(f"{PAGE}?utm_source=x&utm_anything=y", PAGE, id="no utm_*"),
        pytest.param(f"{PAGE}?ref=x&clickid=1&click_id=2&subid=3&sub_id=4", PAGE, id="no tracking by name"),
        pytest.param(f"{PAGE}?aff=1&affid=2&affiliate_id=3", PAGE, id="no aff* and affiliate*"),
        pytest.param(f"{PAGE}?irclickid=1&irgwc=1&intsrc=CATF", PAGE, id="no parameters of the network"),
        pytest.param(f"{PAGE}?UTM_Source=x&Ref=y", PAGE, id="whatever their case"),
        pytest.param(f"{PAGE}?reference=1&color=Red&empty=", f"{PAGE}?color=Red&empty=&reference=1", id="others stay"),
        pytest.param(f"{PAGE}?c=caf%C3%A9%20noir", f"{PAGE}?c=caf%C3%A9+noir", id="characters stay"),
        pytest.param(f"{PAGE}#reviews", PAGE, id="no fragment"),
    ],
)
def test_canonical_url(url, canonical):
    assert canonical_url(url) == canonical
    assert canonical_url(canonical) == canonical


@pytest.mark.spec("002 3.4")
def test_canonical_url_keeps_two_values_apart_whatever_their_encoding():
    """Old shops escape in Latin-1: é is %E9 and è is %E8."""
    assert canonical_url(f"{PAGE}?c=%E9") != canonical_url(f"{PAGE}?c=%E8")


@pytest.mark.spec("002 3.4")
def test_url_hash_is_the_same_with_and_without_encryption():
    assert url_hash("http://shop.example/Tent") == url_hash(PAGE)
    assert url_hash(PAGE) == hashlib.sha256(b"shop.example/Tent").hexdigest()
    assert url_hash(PAGE) != url_hash(PAGE.lower())


@pytest.mark.parametrize(
    "link, page",
    [
        pytest.param(
            f"{IMPACT}?prodsku=s-1&u=https%3A%2F%2Fshop.example%2FTent%3Fcolor%3Dred%26utm_source%3Dimpact&intsrc=C",
            f"{PAGE}?color=red",
            id="a redirect with tracking inside",
        ),
        pytest.param("https://shop.sjv.io/x?u=https%3A%2F%2Fshop.example%2FTent", PAGE, id="another of its hosts"),
        pytest.param("https://PXF.io/x?u=https%3A%2F%2Fshop.example%2FTent", PAGE, id="the bare host, in capitals"),
        pytest.param(f"{IMPACT}?u=%2FTent", f"{IMPACT}?u=%2FTent", id="not to half an address"),
        pytest.param(f"{IMPACT}?x=1", f"{IMPACT}?x=1", id="not without a target"),
        pytest.param(
            "https://notpxf.io/x?u=https%3A%2F%2Fshop.example%2FTent",
            "https://notpxf.io/x?u=https%3A%2F%2Fshop.example%2FTent",
            id="not from a host that only ends alike",
        ),
    ],
)
def test_canonical_url_unwraps_redirects_of_the_network(link, page):
    assert canonical_url(link) == page


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
