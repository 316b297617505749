"""How a run, a trial or a plan gets at a feed's file, by its address with the secret in it; and how much is allowed."""

from collections.abc import Mapping
from typing import Any

from db.enums import SecretKind, Transport
from tasks.catalogue.config import DEFAULT_MAX_BYTES, DEFAULT_MAX_ROWS
from tasks.catalogue.parse import Limits
from tasks.errors import LoginRefusedError
from tasks.keyring import decrypted
from tasks.transport import INFLATED_PER_BYTE, Remote


def remote_of(feed: Mapping[str, Any]) -> Remote:
    """The address with the decrypted secret: to be connected to at once, and kept nowhere."""
    secret = decrypted(feed)
    is_key = feed["secret_kind"] == SecretKind.PRIVATE_KEY
    if is_key and feed["transport"] == Transport.FTP:
        message = "a private key cannot log in by FTP, which knows passwords only"
        raise LoginRefusedError(message)
    names = ("host", "port", "path", "username", "host_key_fingerprint")
    return Remote(
        Transport(feed["transport"]),
        password=None if is_key else secret,
        private_key=secret if is_key else None,
        legacy_algorithms=tuple(feed["legacy_algorithms"]),
        **{name: feed[name] for name in names},
    )


def max_bytes_of(feed: Mapping[str, Any]) -> int:
    return int(feed["max_file_size_bytes"] or DEFAULT_MAX_BYTES)


def limits_of(feed: Mapping[str, Any]) -> Limits:
    max_bytes = max_bytes_of(feed) * INFLATED_PER_BYTE
    return Limits(max_rows=feed["max_row_count"] or DEFAULT_MAX_ROWS, max_bytes=max_bytes)
