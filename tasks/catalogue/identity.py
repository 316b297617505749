"""Which product a row is about: the network's item id, else the retailer's SKU, else the hash of its address."""

import hashlib
from urllib.parse import parse_qs, parse_qsl, urlencode, urlsplit, urlunsplit

import polars as pl

from db.enums import IdentityType

_TRACKING_PREFIXES = ("utm_", "aff")
_TRACKING = frozenset({"ref", "clickid", "click_id", "subid", "sub_id", "irclickid", "irgwc", "intsrc", "prodsku"})
_REDIRECT_PARAMETERS = ("u", "url")
_REDIRECT_HOSTS = ("pxf.io", "sjv.io", "evyy.net", "7eer.net", "ojrq.net")


def canonical_url(url: str) -> str:
    """The product's own address: unwrapped from a network's redirect, without tracking parameters."""
    parts = urlsplit(_unwrapped(url))
    # surrogateescape: values that are not UTF-8 stay what they are, or two products would become one.
    values = parse_qsl(parts.query, keep_blank_values=True, errors="surrogateescape")
    query = urlencode(sorted(pair for pair in values if not _tracks(pair[0])), errors="surrogateescape")
    path = parts.path.rstrip("/")
    return urlunsplit((parts.scheme.lower(), parts.netloc.lower(), path, query, ""))


def _unwrapped(url: str) -> str:
    parts = urlsplit(url)
    host = (parts.hostname or "").lower()
    if not any(host == known or host.endswith(f".{known}") for known in _REDIRECT_HOSTS):
        return url
    targets = parse_qs(parts.query)
    for name in _REDIRECT_PARAMETERS:
        for target in targets.get(name, []):
            if target.lower().startswith(("http://", "https://")):
                return target
    return url


def _tracks(name: str) -> bool:
    lower = name.lower()
    return lower in _TRACKING or lower.startswith(_TRACKING_PREFIXES)


def url_hash(canonical: str) -> str:
    """SHA-256 of a canonical address without its scheme."""
    return hashlib.sha256(canonical.partition("://")[2].encode()).hexdigest()


def with_identity(rows: pl.DataFrame) -> pl.DataFrame:
    """The rows with `identity_type` and `identity_value`, and the canonical `url` beside the `delivered_url`."""
    addresses = pl.DataFrame({"delivered_url": rows["url"].unique()}, schema={"delivered_url": pl.String})
    canonical = [_canonical_or_same(url) for url in addresses["delivered_url"]]
    addresses = addresses.with_columns(
        url=pl.Series(canonical, dtype=pl.String),
        normalized_url_hash=pl.Series([url_hash(url) for url in canonical], dtype=pl.String),
    )
    item, sku = pl.col("impact_item_id"), pl.col("sku")
    kind = (
        pl.when(item.is_not_null())
        .then(pl.lit(IdentityType.IMPACT_ITEM_ID.value))
        .when(sku.is_not_null())
        .then(pl.lit(IdentityType.SKU.value))
        .otherwise(pl.lit(IdentityType.URL_HASH.value))
    )
    placed = rows.rename({"url": "delivered_url"}).join(
        addresses, on="delivered_url", how="left", maintain_order="left"
    )
    return placed.with_columns(identity_type=kind, identity_value=pl.coalesce(item, sku, "normalized_url_hash"))


def _canonical_or_same(url: str) -> str:
    try:
        return canonical_url(url)
    except ValueError:  # an address that urllib cannot take apart, for example a bad IPv6 host
        return url


def last_of_each(rows: pl.DataFrame) -> pl.DataFrame:
    """The last row of each identity, over the whole file."""
    return rows.unique(subset=["identity_type", "identity_value"], keep="last", maintain_order=True)
