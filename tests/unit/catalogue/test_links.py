"""Addresses of products: one for each, whatever link was delivered."""

import hashlib
from urllib.parse import quote

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tasks.catalogue.links import canonical_url, url_hash

PAGE = "https://shop.example/Tent"
IMPACT = "https://northfork.pxf.io/c/12345/67890/1234"


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
    assert canonical_url(f"{IMPACT}?u={PAGE}%3Fc=%E9") == canonical_url(f"{PAGE}?c=%E9")
    assert canonical_url(f"{IMPACT}?u={PAGE}/%E9") == f"{PAGE}/%E9"


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


@pytest.mark.spec("002 3.4")
@pytest.mark.parametrize(
    "url, canonical",
    [
        pytest.param("HTTP://SHOP.example:8080/A", "http://shop.example:8080/A", id="a port"),
        pytest.param("https://shop.example//a//b//", "https://shop.example//a//b", id="slashes within"),
        pytest.param(f"{PAGE}?&&a=1&", f"{PAGE}?a=1", id="empty pairs"),
        pytest.param(f"{PAGE}?", PAGE, id="a question mark alone"),
        pytest.param(f"{PAGE}?a", f"{PAGE}?a=", id="a name without a value"),
        pytest.param(f"{PAGE}?a=2&a=1", f"{PAGE}?a=1&a=2", id="a name twice"),
        pytest.param(f"{PAGE}?a=b=c", f"{PAGE}?a=b%3Dc", id="a sign within a value"),
        pytest.param(f"{PAGE}?q=\u00e9", f"{PAGE}?q=%C3%A9", id="a bare character is as good as its escape"),
        pytest.param(f"{PAGE}?a=1#utm_source=x", f"{PAGE}?a=1", id="tracking in the fragment"),
        pytest.param(f"{PAGE}?gclid=1&fbclid=2", f"{PAGE}?fbclid=2&gclid=1", id="tracking that is not listed stays"),
        pytest.param(f"{PAGE}?xutm_source=1&myref=2", f"{PAGE}?myref=2&xutm_source=1", id="names that only end alike"),
        pytest.param("https://shop.example/\u9774", "https://shop.example/\u9774", id="a path of another script"),
        pytest.param("https://user@shop.example/a", "https://user@shop.example/a", id="a user"),
        pytest.param("https://shop.example:port/a", "https://shop.example:port/a", id="a port that is none"),
    ],
)
def test_canonical_url_of_an_odd_address(url, canonical):
    assert canonical_url(url) == canonical
    assert canonical_url(canonical) == canonical


words = st.text(alphabet="abZ09._~-", max_size=4)
pairs = st.lists(st.tuples(words.filter(bool) | st.sampled_from(["utm_x", "ref", "affid"]), words), max_size=4)
hosts = st.sampled_from(["shop.example", "Shop.Example", "shop.example:8080"])


@settings(max_examples=150, deadline=None)
@given(host=hosts, path=st.text(alphabet="/aB%20\u00e9", max_size=6), query=pairs, data=st.data())
def test_canonical_url_does_not_depend_on_order_tracking_or_escapes(host, path, query, data):
    def link(pairs, *, escape):
        written = ["=".join(quote(text, safe="") if not escape else escaped(text) for text in pair) for pair in pairs]
        return f"https://{host}/{path}" + (f"?{'&'.join(written)}" if written else "")

    def escaped(text):
        return "".join(f"%{ord(character):02X}" for character in text)

    first = canonical_url(link(query, escape=False))
    shuffled = data.draw(st.permutations([*query, ("utm_source", "x")]))
    assert canonical_url(link(shuffled, escape=True)) == first  # a way of its own, and the same address
    assert canonical_url(first) == first
    wrapped = f"{IMPACT}?prodsku=1&u={quote(link(query, escape=False), safe='')}"
    assert canonical_url(wrapped) == first


@settings(max_examples=150, deadline=None)
@given(text=st.text(alphabet=st.characters(exclude_categories=["Cs"]), max_size=30))
def test_canonical_url_of_any_text_is_a_text_that_can_be_hashed(text):
    for url in (text, f"https://{text}", f"{IMPACT}?u=https://{text}", f"{PAGE}?{text}"):
        assert len(url_hash(canonical_url(url))) == 64
