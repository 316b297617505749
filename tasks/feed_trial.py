"""Trying a feed on file, and trusting the host key of its server, once and by name."""

from dataclasses import replace

from db import feeds
from db.engine import Connection, Row, transaction
from db.enums import ScheduleStatus
from db.errors import RefusedError
from tasks.catalogue.access import remote_of
from tasks.catalogue.config import DEFAULT_MAX_BYTES
from tasks.catalogue.registry import Actor, find_feed, hold_feed, note, stamp
from tasks.catalogue.trial import Limits, Trial, try_file
from tasks.errors import HostKeyUnknownError


def try_feed(conn: Connection, key: str, actor: Actor, *, trust_host_key: bool = False) -> Trial:
    """What a look at the feed's file finds. Writes nothing but a host key, if none is pinned and it is to be trusted.

    A key that differs from the pinned one is never trusted here: that takes `feeds set --host-key`.
    """
    feed = find_feed(conn, key)
    if feed["status"] == ScheduleStatus.REMOVED:
        message = f"the feed {key!r} was removed, and its password with it"
        raise RefusedError(message, code="FEED_REMOVED")
    limits = Limits(feed["max_file_size_bytes"] or DEFAULT_MAX_BYTES, actor.clock.now())
    remote = remote_of(feed)
    trial = try_file(remote, Trial(), limits)
    if not trust_host_key or not isinstance(trial.failure, HostKeyUnknownError):
        return trial
    fingerprint = trial.failure.fingerprint
    _pin(conn, feed, fingerprint, actor)
    again = Trial()
    again.found("trust", f"{fingerprint} is trusted from now on, and pinned")
    return try_file(replace(remote, host_key_fingerprint=fingerprint), again, limits)


def _pin(conn: Connection, tried: Row, fingerprint: str, actor: Actor) -> None:
    """Pin the key that the server showed; refuses if the feed got another key or server while it was looked at."""
    with transaction(conn):
        feed = hold_feed(conn, tried["feed_key"])
        if (feed["host"], feed["port"]) != (tried["host"], tried["port"]):
            message = f"the address of {feed['feed_key']} was changed meanwhile, so no key was pinned"
            raise RefusedError(message, code="ADDRESS_CHANGED", hint="try the feed again")
        at = stamp(conn, feed, actor)
        if feeds.mark_host_key(conn, feed["id"], fingerprint, now=at):
            note(conn, feed, actor.name, "FEED_UPDATED", at=at, changed_fields=["host_key_fingerprint"])
        elif feed["host_key_fingerprint"] != fingerprint:
            pinned = feed["host_key_fingerprint"]
            message = f"{pinned} was pinned meanwhile, but the server shows {fingerprint}; the pinned key stays"
            hint = f"ask the owner of the server; feedmill feeds set {feed['feed_key']} --host-key pins another"
            raise RefusedError(message, code="HOST_KEY_PINNED", hint=hint)
