"""Passwords at rest: AES-256-GCM bound to one feed and one version, and the key that opens them."""

import base64
import hashlib
import os
from pathlib import Path

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from db.home import database_url, home
from tasks import files
from tasks.errors import KeyMissingError, SecretUnreadableError

KEY_VARIABLE = "CREDENTIAL_ENCRYPTION_KEY_B64"
KEY_FILE = "credential.key"
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


def load_key() -> bytes:
    """The key of the environment; else, for the embedded database only, the one in its folder, made at first use."""
    text = os.environ.get(KEY_VARIABLE)
    if text:
        return _decoded(text, where=KEY_VARIABLE)
    if database_url() is None:
        return _key_of_home(home() / KEY_FILE)
    message = f"{KEY_VARIABLE} is not set"
    hint = f"on every machine, set {KEY_VARIABLE} to the one key that you make with: openssl rand -base64 32"
    raise KeyMissingError(message, hint=hint)


def key_id(key: bytes) -> str:
    """A short name for a key, to tell keys apart; nothing of the key can be learned from it."""
    return hashlib.sha256(b"feedmill credential key\0" + key).hexdigest()[:8]


def _bound_to(feed_id: int | str, secret_version: int) -> bytes:
    """The associated data: a payload copied to another feed, or from an older version, does not open."""
    return f"feed:{feed_id}:v{secret_version}".encode()


def _decoded(text: str, *, where: str) -> bytes:
    try:
        key = base64.b64decode(text, validate=True)
    except ValueError as error:
        message = f"{where} is not base64"
        raise KeyMissingError(message) from error
    if len(key) != KEY_BYTES:
        message = f"{where} holds {len(key)} bytes; {KEY_BYTES} are needed"
        raise KeyMissingError(message)
    return key


def _key_of_home(path: Path) -> bytes:
    """The file holds the same base64 text as the variable, so that it can move there with the database."""
    try:
        try:
            text = files.read_key_file(path)
        except FileNotFoundError:
            files.make_key_file(path, base64.b64encode(os.urandom(KEY_BYTES)) + b"\n")
            text = files.read_key_file(path)
    except PermissionError as error:
        message = f"{path} is refused: {error.strerror or error}"
        raise KeyMissingError(message, hint=f"let only its owner read it: chmod 600 {path}") from error
    return _decoded(text.decode(errors="replace").strip(), where=str(path))
