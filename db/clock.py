"""The one source of time. Every time that is written comes from here, and for a source it never goes backwards."""

import os
from dataclasses import dataclass
from datetime import UTC, datetime

from db.errors import BadRequestError


def system_now() -> datetime:
    """The machine's time. Nothing else in feedmill asks for it."""
    return datetime.now(UTC)


@dataclass(frozen=True)
class Clock:
    """The machine's time, or the moment that a person named with `--at`."""

    at: datetime | None = None

    def now(self) -> datetime:
        return self.at or system_now()

    def stamp(self, last: datetime | None) -> datetime:
        """The time to write for a source whose last stamp is given; refuses a named moment before it."""
        if last is None or self.now() >= last:
            return self.now()
        if self.at is not None:
            message = f"--at {iso(self.at)} is before the last stamp of this feed, {iso(last)}"
            raise BadRequestError(message, code="AT_TOO_EARLY", hint=f"name a moment from {iso(last)} on")
        return last


def named_clock(text: str | None) -> Clock:
    """The clock of a command that was called with `--at`; a moment to come only under FEEDMILL_TEST_CLOCK=1."""
    if text is None:
        return Clock()
    at = parse_moment(text)
    if at > system_now() and not future_allowed():
        message = f"--at {iso(at)} lies in the future"
        raise BadRequestError(message, code="AT_IN_FUTURE", hint="demos and tests set FEEDMILL_TEST_CLOCK=1")
    return Clock(at)


def future_allowed() -> bool:
    return os.environ.get("FEEDMILL_TEST_CLOCK") == "1"


def parse_moment(text: str) -> datetime:
    """An ISO 8601 time as UTC; one without an offset is taken as UTC."""
    try:
        moment = datetime.fromisoformat(text)
        return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
    except (ValueError, OverflowError):
        message = f"{text!r} is not a time"
        raise BadRequestError(message, code="BAD_TIME", hint="write it as 2026-11-18T06:30:00Z") from None


def iso(moment: datetime) -> str:
    """ISO 8601 in UTC, as feedmill writes every time."""
    return moment.astimezone(UTC).isoformat().replace("+00:00", "Z")
