"""From a feed's row to what reading its file takes: where it lies, and how much of it is allowed."""

from collections.abc import Mapping
from typing import Any

from db.enums import Transport
from tasks import secrets
from tasks.catalogue.config import DEFAULT_MAX_BYTES, DEFAULT_MAX_ROWS
from tasks.catalogue.parse import Limits
from tasks.transport import INFLATED_PER_BYTE, Remote


def remote_of(feed: Mapping[str, Any]) -> Remote:
    """The address with the password in it: made here, just before connecting, and kept nowhere."""
    password = None
    if feed["secret_ciphertext"] is not None:
        version = feed["secret_version"]
        key = secrets.load_key()
        password = secrets.decrypt_secret(
            feed["secret_ciphertext"], feed_id=feed["id"], secret_version=version, key=key
        )
    names = ("host", "port", "path", "username", "host_key_fingerprint")
    return Remote(Transport(feed["transport"]), password=password, **{name: feed[name] for name in names})


def max_bytes_of(feed: Mapping[str, Any]) -> int:
    return int(feed["max_file_size_bytes"] or DEFAULT_MAX_BYTES)


def limits_of(feed: Mapping[str, Any]) -> Limits:
    max_bytes = max_bytes_of(feed) * INFLATED_PER_BYTE
    return Limits(max_rows=feed["max_row_count"] or DEFAULT_MAX_ROWS, max_bytes=max_bytes)
