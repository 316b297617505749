"""What is written for one feed, and the rules around its runs: settings, switches, failures, jobs, clean-up."""

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from tests.model.history import Identity, Line
from tests.model.rows import Product, RunRow

START = datetime.fromisoformat("2100-01-01T00:00:00+00:00")  # no real clock comes after a stamp of a history
STARTS_OF_A_JOB = 3
FAILURES_TO_DISABLE = 3
KEPT_DAYS = 30

_WAYS = {"pause": ("ENABLED", "PAUSED"), "resume": ("PAUSED", "ENABLED"), "reenable": ("DISABLED", "ENABLED")}


class RefusedError(Exception):
    """Nothing was done; the code says why."""

    def __init__(self, *, code: str) -> None:
        super().__init__(code)


@dataclass(frozen=True)
class File:
    """What lies at the feed's address."""

    lines: tuple[Line, ...]
    modified_at: datetime
    size: int
    sha256: str


@dataclass
class Books:
    """One feed and everything that was ever written for it."""

    clock: datetime = START
    stamp: datetime = START  # the latest time written
    expiry_hours: int = 48
    heartbeat_hours: int = 24
    unchanged_policy: str = "age"
    gates: dict[str, Any] = field(default_factory=dict)
    config_version: int = 1
    is_primary: bool = True
    status: str = "ENABLED"
    failures: int = 0
    job_starts: int = 0  # of the job that is running or waits; 0 if there is none
    products: dict[Identity, Product] = field(default_factory=dict)
    runs: list[RunRow] = field(default_factory=list)
    shelf: set[Identity] = field(default_factory=set)  # the set of the last promotion
    file: File | None = None
    last_file: File | None = None  # the last one processed

    def now(self) -> datetime:
        """The time to write: never before the last one."""
        return max(self.clock, self.stamp)

    def change(self, setting: str, value: Any) -> None:
        """An edit also makes the next run read its file whatever its date."""
        self.refuse_if_removed()
        if setting == "gates":  # what is not named stays, None is the default again
            value = {name: limits for name, limits in {**self.gates, **value}.items() if limits is not None}
        if getattr(self, setting) != value:
            setattr(self, setting, value)
            self.stamp = self.now()
            self.config_version += 1
            self.last_file = None

    def set_primary(self, *, this: bool) -> None:
        """At most one source of a retailer is primary: this one, or the other."""
        if this:
            self.refuse_if_removed()
        if this != self.is_primary:
            self.stamp = self.now()
            self.is_primary = this

    def switch(self, name: str) -> None:
        self.refuse_if_removed()
        before, after = _WAYS[name]
        if self.status == after:
            return
        if self.status != before:
            raise RefusedError(code="WRONG_STATUS")
        self.stamp = self.now()
        self.status = after
        if after == "ENABLED":
            self.failures = 0
        else:
            self._cancel_what_waits()

    def remove(self) -> None:
        """Section 8 of the design: archived, its offers leave at once."""
        self.refuse_if_removed()
        self.stamp = self.now()
        self.status, self.is_primary = "REMOVED", False
        self._cancel_what_waits()

    def clean_up(self) -> None:
        """Section 15.5: old runs go, and their seen rows with them; prices keep the number of their run."""
        for run in self.runs:
            if run.started_at < self.clock - timedelta(days=KEPT_DAYS) and run.status != "RUNNING":
                run.is_deleted = True

    def reap(self) -> None:
        self.close_the_dead()

    def close_the_dead(self) -> None:
        """A process that is gone: its record is closed; its job starts again until it has had its starts."""
        if self._says_running():
            run = self.runs[-1]
            run.status, run.error_code = "FAILED", "WORKER_LOST"
            self.last_file = None
            if self.job_starts >= STARTS_OF_A_JOB:
                self.job_starts = 0
                self._count_failure()

    def fail(self, run: RunRow, code: str, *, counts: bool) -> None:
        run.status, run.error_code = "FAILED", code
        self.last_file = None
        self.job_starts = 0
        if counts:
            self._count_failure()

    def succeed(self, run: RunRow) -> None:
        run.status = "SUCCEEDED"
        self.job_starts = self.failures = 0

    def refuse_unless_enabled(self) -> None:
        """Looked at again under the lock: then what waits is canceled, and there is no record."""
        if self.status != "ENABLED":
            self._cancel_what_waits()
            raise RefusedError(code="FEED_NOT_ENABLED")

    def _count_failure(self) -> None:
        """Section 11.1."""
        self.failures += 1
        if self.status == "ENABLED" and self.failures >= FAILURES_TO_DISABLE:
            self.status = "DISABLED"

    def _cancel_what_waits(self) -> None:
        if not self._says_running():
            self.job_starts = 0

    def _says_running(self) -> bool:
        return bool(self.runs) and self.runs[-1].status == "RUNNING"

    def refuse_if_removed(self) -> None:
        if self.status == "REMOVED":
            raise RefusedError(code="FEED_REMOVED")
