"""The keys that open stored passwords: where they come from, which one encrypts, and how a new one takes over."""

import base64
import os
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from db.errors import BadRequestError
from db.home import database_url, home
from tasks import files, progress
from tasks.errors import KeyMissingError, SecretUnreadableError
from tasks.hints import hint_of
from tasks.secrets import KEY_BYTES, decrypt_secret, key_id

KEY_VARIABLE = "CREDENTIAL_ENCRYPTION_KEY_B64"
OLD_KEY_VARIABLE = "CREDENTIAL_ENCRYPTION_OLD_KEY_B64"  # only while keys change
KEY_FILE = "credential.key"
NEXT_FILE = "credential.key.next"  # only while keys change, or where that was interrupted
OLD_FILE = "credential.key.old"  # the last key, for backups of the database and for runs that began with it


def new_key() -> str:
    """A new key, as the variable and the file hold it."""
    return base64.b64encode(os.urandom(KEY_BYTES)).decode()


def load_key() -> bytes:
    """The key to encrypt with: of the environment; else, for the embedded database only, of a file in its folder.

    Refuses a key that is missing or not one, and never makes one: a new key opens nothing that is stored.
    """
    key = _present_key()
    if key is None:
        path = home() / KEY_FILE
        message = f"the key for stored passwords is missing: {path}"
        hint = "put the file back from a backup; if it is lost for good, make a key with "
        hint += f"`(umask 077; feedmill key new > {shlex.quote(str(path))})` and set every password anew"
        raise KeyMissingError(message, hint=hint)
    return key


def first_key() -> bytes:
    """The same, but a missing key file is made: only for the first secret, while no other is stored."""
    return _present_key() or _made(KEY_FILE)


def key_named(wanted: str) -> bytes:
    """The key of this id, the present one or one that it replaces; refuses if none of them is."""
    present = load_key()
    keys = {key_id(key): key for key in (present, *_other_keys())}
    if wanted not in keys:
        message = f"the stored password was encrypted with key {wanted}; here is key {key_id(present)}"
        raise SecretUnreadableError(message)
    return keys[wanted]


def decrypted(feed: Mapping[str, Any]) -> str | None:
    """The feed's password or private key; None if it has none, an error if no key here opens it."""
    if feed["secret_ciphertext"] is None:
        return None
    return decrypt_secret(
        feed["secret_ciphertext"],
        feed_id=feed["id"],
        secret_version=feed["secret_version"],
        key=key_named(feed["secret_key_id"]),
    )


def check_key(feed: Mapping[str, Any]) -> None:
    """Refuse to begin without the very key of the feed's secret: a run that cannot log in would count as a failure."""
    if feed["secret_ciphertext"] is None:
        return
    try:
        key_named(feed["secret_key_id"])
    except (KeyMissingError, SecretUnreadableError) as error:
        raise BadRequestError(error.message, code=error.code, hint=hint_of(error, feed["feed_key"])) from error


def key_to_replace() -> bytes | None:
    """What `key_to_rotate_to` is told: the key in the file as a rotation finds it, before it waits for others."""
    return _read(KEY_FILE) if _is_in_files() else None


def key_to_rotate_to(replaced: bytes | None) -> bytes:
    """The key that is to hold all secrets; for the embedded database a new one, on disk before it is used.

    Called while nobody else rotates. If somebody did so just before, it is his: a third key would push out the first.
    """
    present = load_key()  # without it nothing could be moved, and a new one would pass for it
    if _is_in_files():
        begun = _read(NEXT_FILE)
        return begun or (_made(NEXT_FILE) if present == replaced else present)
    if not os.environ.get(OLD_KEY_VARIABLE):
        message = f"{OLD_KEY_VARIABLE} is not set, so the stored passwords cannot be read any more or need no new key"
        hint = f"make a key with `feedmill key new`, put it into {KEY_VARIABLE} and the old one into {OLD_KEY_VARIABLE}"
        raise KeyMissingError(message, hint=hint)
    _decoded(os.environ[OLD_KEY_VARIABLE], where=OLD_KEY_VARIABLE)
    return present


def finish_rotation(key: bytes) -> None:
    """Nothing is under the old key any more: give the new one its name. For the embedded database only.

    Called while nobody else rotates. The old key keeps its name until the new one takes it, so that a reader finds one.
    """
    if not _is_in_files() or _read(NEXT_FILE) != key:
        return  # somebody else finished it, and may have begun another
    old = home() / KEY_FILE
    if files.is_there(old):
        files.discard_file(home() / OLD_FILE)
        files.make_key_file(home() / OLD_FILE, files.read_key_file(old))
    files.replace_file(home() / NEXT_FILE, old)


def _is_in_files() -> bool:
    return not os.environ.get(KEY_VARIABLE) and database_url() is None


def _present_key() -> bytes | None:
    """None for a key file that is not there; an error for a variable that is not set."""
    text = os.environ.get(KEY_VARIABLE)
    if text:
        return _decoded(text, where=KEY_VARIABLE)
    if database_url() is None:
        return _read(NEXT_FILE) or _read(KEY_FILE)
    message = f"{KEY_VARIABLE} is not set"
    hint = f"on every machine, set {KEY_VARIABLE} to the one key that you make with: feedmill key new"
    raise KeyMissingError(message, hint=hint)


def _other_keys() -> list[bytes]:
    old = os.environ.get(OLD_KEY_VARIABLE)
    named = [_decoded(old, where=OLD_KEY_VARIABLE)] if old else []
    on_disk = [_read(name) for name in (NEXT_FILE, KEY_FILE, OLD_FILE)] if database_url() is None else []
    return [*named, *(key for key in on_disk if key)]


def _read(name: str) -> bytes | None:
    """The files hold the same base64 text as the variable, so that it can move there with the database."""
    path = home() / name
    try:
        text = files.read_key_file(path)
    except FileNotFoundError:
        return None
    except PermissionError as error:
        message = f"{path} is refused: {error.strerror or error}"
        raise KeyMissingError(message, hint=f"let only its owner read it: chmod 600 {path}") from error
    return _decoded(text.decode(errors="replace").strip(), where=str(path))


def _made(name: str) -> bytes:
    path: Path = home() / name
    try:
        is_ours = files.make_key_file(path, f"{new_key()}\n".encode())
    except PermissionError as error:
        message = f"{path} is refused: {error.strerror or error}"
        raise KeyMissingError(message, hint=f"let its owner write there: chmod 700 {path.parent}") from error
    if is_ours and name == KEY_FILE:
        progress.tell(f"made a key for stored passwords: {path} (mode 600); they cannot be read without it")
    key = _read(name)
    if key is None:
        message = f"{path} was removed while it was made"
        raise KeyMissingError(message)
    return key


def _decoded(text: str, *, where: str) -> bytes:
    hint = "make a key with: feedmill key new"
    try:
        key = base64.b64decode(text, validate=True)
    except ValueError:
        message = f"{where} is not base64"
        raise KeyMissingError(message, hint=hint) from None
    if len(key) != KEY_BYTES:
        message = f"{where} holds {len(key)} bytes; {KEY_BYTES} are needed"
        raise KeyMissingError(message, hint=hint)
    return key
