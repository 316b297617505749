"""Addresses of products: unwrapped from a network's redirect, without tracking, so that one product has one."""

import hashlib
import re
from functools import lru_cache
from urllib.parse import parse_qsl, unquote_plus, urlencode, urlsplit, urlunsplit

_TRACKING_PREFIXES = ("utm_", "aff")
_TRACKING = frozenset({"ref", "clickid", "click_id", "subid", "sub_id", "irclickid", "irgwc", "intsrc", "prodsku"})
_TARGETS = (re.compile(r"(?:^|&)u=([^&#]*)"), re.compile(r"(?:^|&)url=([^&#]*)"))  # parameters of a redirect
_USUAL = (("%3A", ":"), ("%2F", "/"), ("%3F", "?"), ("%3D", "="), ("%26", "&"))
_REDIRECT_HOSTS = ("pxf.io", "sjv.io", "evyy.net", "7eer.net", "ojrq.net")
# What needs no decoding and encoding: most addresses, and ten times as fast.
_SIMPLE = re.compile(r"(https?)://([A-Za-z0-9.-]+)(/[^?#\s\[\]]*)?(?:\?([A-Za-z0-9_.~=&-]*))?", flags=re.IGNORECASE)
_NOT_UTF8 = re.compile("[\udc80-\udcff]")  # how Python writes such bytes in a text


def canonical_url(url: str) -> str:
    """The product's own address; one that cannot be taken apart, for example with a bad IPv6 host, stays as it is."""
    try:
        target = _unwrapped(url)
        return _simple(target) or _any(target)
    except ValueError:
        return url


def url_hash(canonical: str) -> str:
    """SHA-256 of a canonical address without its scheme."""
    return hashlib.sha256(canonical.partition("://")[2].encode()).hexdigest()


def _simple(url: str) -> str | None:
    """None if it takes more than leaving parameters out."""
    found = _SIMPLE.fullmatch(url)
    if found is None:
        return None
    scheme, host, path, query = found.groups()
    address = f"{scheme.lower()}://{host.lower()}{(path or '').rstrip('/')}"
    if not query:
        return address
    pairs = [pair.split("=") for pair in query.split("&") if pair]
    if any(len(pair) != 2 for pair in pairs):
        return None
    kept = sorted(pair for pair in pairs if not _tracks(pair[0]))
    return f"{address}?{'&'.join('='.join(pair) for pair in kept)}" if kept else address


def _any(url: str) -> str:
    parts = urlsplit(url)
    # surrogateescape: values that are not UTF-8 stay what they are, or two products would become one.
    values = parse_qsl(parts.query, keep_blank_values=True, errors="surrogateescape")
    query = urlencode(sorted(pair for pair in values if not _tracks(pair[0])), errors="surrogateescape")
    path = parts.path.rstrip("/")
    return urlunsplit((parts.scheme.lower(), parts.netloc.lower(), path, query, ""))


def _unwrapped(url: str) -> str:
    """What a redirect leads to; any other address as it is."""
    head, _, query = url.partition("?")
    if not query or not _redirects(head.partition("://")[2].partition("/")[0]):
        return url
    query = query.partition("#")[0]
    for wrapped in _TARGETS:
        found = wrapped.search(query)
        target = _unescaped(found[1]) if found else ""
        if target.lower().startswith(("http://", "https://")):
            return target
    return url


def _unescaped(value: str) -> str:
    """As text; what is not UTF-8 stays escaped."""
    text = value
    for code, sign in _USUAL:  # alone in most addresses, and a fifth of the cost
        text = text.replace(code, sign)
    if "%" not in text and "+" not in text:
        return text
    text = unquote_plus(value, errors="surrogateescape")
    return text if text.isascii() else _NOT_UTF8.sub(lambda found: f"%{ord(found[0]) - 0xDC00:02X}", text)


@lru_cache(maxsize=1024)
def _redirects(netloc: str) -> bool:
    host = (urlsplit(f"//{netloc}").hostname or "").lower()
    return any(host == known or host.endswith(f".{known}") for known in _REDIRECT_HOSTS)


@lru_cache(maxsize=4096)
def _tracks(name: str) -> bool:
    lower = name.lower()
    return lower in _TRACKING or lower.startswith(_TRACKING_PREFIXES)
