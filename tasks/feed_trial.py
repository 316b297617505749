"""Trying a feed on file, and trusting the host key of its server, once and by name."""

from dataclasses import replace

from db.engine import Connection
from db.enums import ScheduleStatus
from db.errors import RefusedError
from tasks.catalogue.access import remote_of
from tasks.catalogue.config import DEFAULT_MAX_BYTES
from tasks.catalogue.registry import Actor, change_feed, find_feed
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
    change_feed(conn, key, {"host_key_fingerprint": fingerprint}, actor)
    again = Trial()
    again.found("trust", f"{fingerprint} is trusted from now on, and pinned")
    return try_file(replace(remote, host_key_fingerprint=fingerprint), again, limits)
