"""Passwords and private keys at rest: AES-256-GCM bound to one feed and one version."""

import hashlib
import os

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from tasks.errors import SecretUnreadableError

KEY_BYTES = 32

# The stored payload: version, IV, tag, ciphertext. Node and OpenSSL hand out the tag apart; `cryptography` appends it.
_VERSION = 1
_IV_BYTES = 12
_TAG_BYTES = 16
_TAG_AT = 1 + _IV_BYTES
_CIPHERTEXT_AT = _TAG_AT + _TAG_BYTES


def encrypt_secret(plaintext: str, *, feed_id: int | str, secret_version: int, key: bytes) -> bytes:
    """The payload to store; a new IV every time, so the same password never looks the same."""
    iv = os.urandom(_IV_BYTES)
    sealed = AESGCM(key).encrypt(iv, plaintext.encode(), _bound_to(feed_id, secret_version))
    ciphertext, tag = sealed[:-_TAG_BYTES], sealed[-_TAG_BYTES:]
    return bytes([_VERSION]) + iv + tag + ciphertext


def decrypt_secret(payload: bytes, *, feed_id: int | str, secret_version: int, key: bytes) -> str:
    """The password, or SecretUnreadableError if a bit, the key, the feed or the version is another."""
    if len(payload) < _CIPHERTEXT_AT:
        message = "the stored password is too short to be one"
        raise SecretUnreadableError(message)
    if payload[0] != _VERSION:
        message = f"the stored password has format {payload[0]}; this release reads format {_VERSION}"
        raise SecretUnreadableError(message)
    iv, tag, ciphertext = payload[1:_TAG_AT], payload[_TAG_AT:_CIPHERTEXT_AT], payload[_CIPHERTEXT_AT:]
    try:
        plaintext = AESGCM(key).decrypt(iv, ciphertext + tag, _bound_to(feed_id, secret_version))
    except InvalidTag as error:
        message = f"the stored password does not open with key {key_id(key)}"
        raise SecretUnreadableError(message) from error
    try:
        return plaintext.decode()
    except UnicodeDecodeError:
        message = "the stored password is not UTF-8 text"
        raise SecretUnreadableError(message) from None  # the cause carries the password


def key_id(key: bytes) -> str:
    """A short name for a key, to tell keys apart; nothing of the key can be learned from it."""
    return hashlib.sha256(b"feedmill credential key\0" + key).hexdigest()[:8]


def _bound_to(feed_id: int | str, secret_version: int) -> bytes:
    """The associated data: a payload copied to another feed, or from an older version, does not open."""
    return f"feed:{feed_id}:v{secret_version}".encode()
