"""Tracking links: which templates are taken, and what becomes of one for an offer."""

import pytest

from db.errors import BadRequestError
from tasks.catalogue.tracking import PLACEHOLDERS, tracking_url, valid_template

DELIVERED = "https://go.pxf.io/c/1?u=https%3A%2F%2Fshop.example%2Ftent"


def offer(template=None, **values):
    plain = {
        "url": "https://shop.example/tent?colour=red&size=2",
        "delivered_url": DELIVERED,
        "impact_item_id": "item-1",
        "sku": "TENT/2 & more",
        "account_id": "4711",
    }
    return {**plain, "tracking_template": template, **values}


@pytest.mark.spec("002 14.1")
@pytest.mark.parametrize(
    "template, link",
    [
        pytest.param(None, DELIVERED, id="none: the link as delivered"),
        pytest.param(
            "https://go.example/c?u={url}",
            "https://go.example/c?u=https%3A%2F%2Fshop.example%2Ftent%3Fcolour%3Dred%26size%3D2",
            id="the page of the product",
        ),
        pytest.param("https://go.example/{sku}", "https://go.example/TENT%2F2%20%26%20more", id="in the path"),
        pytest.param(
            "http://go.example/{account_id}/{item_id}?again={item_id}",
            "http://go.example/4711/item-1?again=item-1",
            id="several, one of them twice",
        ),
        pytest.param("https://go.example/?u={delivered_url}&x=%20", None, id="what is encoded already stays"),
    ],
)
def test_tracking_url(template, link):
    expected = (
        link
        or "https://go.example/?u=https%3A%2F%2Fgo.pxf.io%2Fc%2F1%3Fu%3Dhttps%253A%252F%252Fshop.example%252Ftent&x=%20"
    )
    assert tracking_url(offer(template)) == expected


@pytest.mark.spec("002 14.1")
@pytest.mark.parametrize("value", [None, ""])
def test_tracking_url_without_a_value_is_the_link_as_delivered(value):
    assert tracking_url(offer("https://go.example/{sku}", sku=value)) == DELIVERED


@pytest.mark.parametrize("delivered", [None, "", "javascript:alert(1)", "http://[half"])
def test_tracking_url_is_none_rather_than_something_else(delivered):
    assert tracking_url(offer(delivered_url=delivered)) is None


def test_tracking_url_takes_a_value_as_it_is():
    """A value that looks like a placeholder is not one."""
    assert tracking_url(offer("https://go.example/{sku}", sku="{url}")) == "https://go.example/%7Burl%7D"


@pytest.mark.parametrize(
    "text", ["https://go.example/c?u={url}", "http://go.example/{sku}", "https://go.example/#{item_id}-{account_id}"]
)
def test_valid_template_takes(text):
    assert valid_template(text) == text


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("", id="nothing"),
        pytest.param("go.example/c?u={url}", id="no scheme"),
        pytest.param("javascript:alert('{url}')", id="another scheme"),
        pytest.param("{url}", id="nothing but the page"),
        pytest.param("http://[go.example/{url}", id="a bracket that does not close"),
        pytest.param("https://go.example/\n{url}", id="a newline"),
        pytest.param("https://go.example/a b?u={url}", id="a blank"),
        pytest.param("https://go.example/{price}?u={url}", id="a placeholder that is not known"),
        pytest.param("https://go.example/{}?u={url}", id="an empty placeholder"),
        pytest.param("https://go.example/?u={url", id="a brace that does not close"),
        pytest.param("https://go.example/?u={{url}}", id="braces in braces"),
        pytest.param("https://{sku}.example/?u={url}", id="a placeholder in the host"),
        pytest.param("https://go.example/", id="no product: every offer would have the same link"),
        pytest.param("https://go.example/{account_id}", id="only the account"),
    ],
)
def test_valid_template_refuses(text):
    with pytest.raises(BadRequestError, match="--tracking-template"):
        valid_template(text)


def test_valid_template_says_what_it_may_hold():
    with pytest.raises(BadRequestError) as refused:
        valid_template("https://go.example/{price}")
    assert all(f"{{{name}}}" in refused.value.hint for name in PLACEHOLDERS)
