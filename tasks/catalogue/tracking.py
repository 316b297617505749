"""Tracking links: a source's template, and the link of one offer. Pure; refuses a template that makes no links."""

import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote, urlsplit

from db.errors import BadRequestError

# What a template may hold, and where its value comes from. Values are percent-encoded, so none can leave its place.
PLACEHOLDERS = {
    "url": "url",  # the product's page, without tracking
    "delivered_url": "delivered_url",  # the link as the file has it
    "item_id": "impact_item_id",
    "sku": "sku",
    "account_id": "account_id",  # the advertiser's, from --account-id
}
_OF_A_PRODUCT = frozenset(PLACEHOLDERS) - {"account_id"}
_PLACEHOLDER = re.compile(r"\{([^{}]*)\}")
_LISTED = ", ".join(f"{{{name}}}" for name in PLACEHOLDERS)


def valid_template(text: str) -> str:
    """The template as it is; refuses what is no web address, unknown placeholders, and one without a product in it."""
    if not _is_web(text) or not text.isprintable() or " " in text:
        message = "--tracking-template must be an address that starts with http:// or https://"
        raise _refuse(message, "for example https://go.example/c?u={url}")
    named = set(_PLACEHOLDER.findall(text))
    unknown = sorted(named - PLACEHOLDERS.keys())
    if unknown or set("{}") & set(_PLACEHOLDER.sub("", text)):
        what = f"holds {{{unknown[0]}}}, which is not known" if unknown else "holds a brace that stands alone"
        message = f"--tracking-template {what}"
        raise _refuse(message, f"it may hold {_LISTED}")
    if "{" in urlsplit(text).netloc or not named & _OF_A_PRODUCT:
        message = "--tracking-template must name the product after the host, or every offer has the same link"
        raise _refuse(message, f"it may hold {_LISTED}")
    return text


def tracking_url(offer: Mapping[str, Any]) -> str | None:
    """The link of an offer by its source's template; the link as delivered if there is none, or it lacks a value."""
    template = offer["tracking_template"]
    if template is not None:
        values = {name: offer[PLACEHOLDERS[name]] for name in _PLACEHOLDER.findall(template)}
        if all(values.values()):
            return _PLACEHOLDER.sub(lambda found: quote(str(values[found[1]]), safe=""), template)
    delivered = offer["delivered_url"]
    return delivered if delivered and _is_web(delivered) else None


def _is_web(text: str) -> bool:
    try:
        parts = urlsplit(text)
    except ValueError:
        return False
    return parts.scheme in {"http", "https"} and bool(parts.netloc)


def _refuse(message: str, hint: str) -> BadRequestError:
    return BadRequestError(message, code="BAD_VALUE", hint=hint)
