"""A feed's switches: who may go where between draft, enabled, paused and disabled, what follows for its runs, and which
feed of a retailer shows."""

from dataclasses import dataclass

from db import feeds
from db import ledger as schedules
from db.engine import Connection, Row, transaction
from db.enums import ScheduleStatus
from db.errors import RefusedError
from tasks import ledger
from tasks.catalogue import config
from tasks.catalogue.registry import Actor, find_feed, hold_feed, key_of, make_primary, next_slot, note, stamp


@dataclass(frozen=True)
class Switch:
    """From one status to another."""

    name: str
    before: ScheduleStatus
    after: ScheduleStatus


ENABLE = Switch("enable", ScheduleStatus.DRAFT, ScheduleStatus.ENABLED)
PAUSE = Switch("pause", ScheduleStatus.ENABLED, ScheduleStatus.PAUSED)
RESUME = Switch("resume", ScheduleStatus.PAUSED, ScheduleStatus.ENABLED)
REENABLE = Switch("reenable", ScheduleStatus.DISABLED, ScheduleStatus.ENABLED)
_WAYS = {switch.before: switch.name for switch in (ENABLE, PAUSE, RESUME, REENABLE)}


def turn(conn: Connection, key: str, switch: Switch, actor: Actor) -> Row:
    """The feed after the switch. Turning it twice is once; from any other status it is refused."""
    with transaction(conn):
        feed = hold_feed(conn, key)
        if feed["status"] == switch.after:
            return feed
        _refuse_other(feed, switch)
        at = stamp(conn, feed, actor)
        config.valid_range(feed["expiry_hours"], config.EXPIRY_HOURS, "the expiry of this feed")
        interval = feed["schedule_frequency_hours"] * 3600 if feed["schedule_frequency_hours"] else None
        starts = switch.after is ScheduleStatus.ENABLED
        schedules.mark_schedule(
            conn,
            feed["schedule_id"],
            status=switch.after,
            interval_seconds=interval,
            next_run_at=next_slot(at, interval) if starts else None,
            now=at,
        )
        if starts:
            schedules.clear_failures(conn, feed["schedule_id"])
        else:
            reason = RefusedError("paused before it started", code="FEED_PAUSED")
            ledger.cancel(conn, key_of(feed), reason=reason, actor=actor.name, now=at)
        statuses = {"old_status": feed["status"], "new_status": switch.after, "reason": switch.name}
        note(conn, feed, actor.name, "FEED_STATUS_CHANGED", at=at, **statuses)
        return find_feed(conn, key)


def choose_primary(conn: Connection, key: str, actor: Actor) -> Row:
    """The feed, shown from now on instead of any other source of its retailer. Choosing it twice is once."""
    with transaction(conn):
        feed = hold_feed(conn, key)
        if feed["is_display_primary"]:
            return feed
        at = stamp(conn, feed, actor)
        make_primary(conn, feed["source_id"], now=at)
        feeds.append_setting_log(conn, feed["source_id"], at=at)
        note(conn, feed, actor.name, "FEED_UPDATED", at=at, changed_fields=["is_primary"])
        return find_feed(conn, key)


def _refuse_other(feed: Row, switch: Switch) -> None:
    if feed["status"] != switch.before:
        message = f"{switch.name} is for a feed that is {switch.before.lower()}; this one is {feed['status'].lower()}"
        way = _WAYS.get(ScheduleStatus(feed["status"]))
        hint = f"from there it goes on with: feedmill feeds {way} {feed['feed_key']}" if way else ""
        raise RefusedError(message, code="WRONG_STATUS", hint=hint)
