"""A new key for all stored secrets: every one of them in one transaction, and the old key stays readable until then."""

from dataclasses import dataclass

from db import feeds
from db.engine import Connection, Row, transaction
from tasks import keyring, secrets
from tasks.catalogue.registry import Actor, note
from tasks.errors import SecretUnreadableError


@dataclass(frozen=True)
class Rotation:
    """What became of the secrets; `key_id` is that of the key which holds them now."""

    key_id: str
    feeds: list[str]


def rotate(conn: Connection, actor: Actor) -> Rotation:
    """Encrypt every stored secret under the new key, or none. Once more does what an interrupted one left.

    Of two at once the second waits, and finds it done.
    """
    replaced = keyring.key_to_replace()
    at = actor.clock.now()
    with transaction(conn):
        feeds.lock_key(conn)
        key = keyring.key_to_rotate_to(replaced)
        held = feeds.lock_secrets(conn, secrets.key_id(key))
        for feed in held:
            feeds.mark_rotated(conn, feed["id"], _sealed_anew(feed, key))
            note(conn, feed, actor.name, "CREDENTIAL_CHANGED", at=at, field_name="encryption key")
    with transaction(conn):  # only what is committed lets the old key go; so the same lock once more
        feeds.lock_key(conn)
        keyring.finish_rotation(key)
    return Rotation(secrets.key_id(key), [feed["feed_key"] for feed in held])


def _sealed_anew(feed: Row, key: bytes) -> dict[str, object]:
    try:
        secret = keyring.decrypted(feed)
    except SecretUnreadableError as error:
        message = f"{feed['feed_key']}: {error.message}; no password was changed"
        hint = f"set it anew first: feedmill feeds set {feed['feed_key']} --password-stdin"
        raise SecretUnreadableError(message, hint=hint) from error
    version = feed["secret_version"] + 1
    return {
        "secret_ciphertext": secrets.encrypt_secret(secret or "", feed_id=feed["id"], secret_version=version, key=key),
        "secret_key_id": secrets.key_id(key),
        "secret_version": version,
    }
