"""Which slot a schedule claims now, and which comes next. Slots are whole intervals apart, so they do not drift."""

from dataclasses import dataclass
from datetime import datetime, timedelta


@dataclass(frozen=True)
class Due:
    """A schedule whose next slot has come."""

    next_run_at: datetime
    interval: timedelta
    is_coalesced: bool = True
    misfire_grace: timedelta | None = None  # None: a slot never grows too old


@dataclass(frozen=True)
class Claim:
    """The slot to run, None if all that came are too old, and the next one after it."""

    slot: datetime | None
    next_run_at: datetime


def claim(due: Due, *, now: datetime) -> Claim:
    """The newest slot of a backlog if it is coalesced, else its oldest; past slots too old are passed over."""
    newest = due.next_run_at + (now - due.next_run_at) // due.interval * due.interval
    slot = newest if due.is_coalesced else _oldest_fresh(due, now=now)
    if slot is None or not _is_fresh(due, slot, now=now):
        return Claim(None, newest + due.interval)
    return Claim(slot, slot + due.interval)


def _oldest_fresh(due: Due, *, now: datetime) -> datetime | None:
    if due.misfire_grace is None:
        return due.next_run_at
    late_by = (now - due.misfire_grace) - due.next_run_at
    passed_over = max(0, -(-late_by // due.interval))  # rounded up: the first slot that is not too old
    slot = due.next_run_at + passed_over * due.interval
    return slot if slot <= now else None


def _is_fresh(due: Due, slot: datetime, *, now: datetime) -> bool:
    return due.misfire_grace is None or now - slot <= due.misfire_grace
