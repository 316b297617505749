"""A run under its lock, and what a pipeline brings to it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from uuid import UUID

from db import runs
from db.clock import Clock
from db.engine import Connection, Row, session_errors
from db.enums import Stage, Trigger
from db.jobs import Key
from tasks.audit import note
from tasks.policy import RetryPolicy


@dataclass(frozen=True)
class Target:
    """What a run is about, as its pipeline knows it."""

    source_id: str
    last_stamp_at: datetime | None
    details: Row = field(repr=False)  # it may hold a ciphertext


@dataclass
class Run:
    """A run under its lock. All it writes goes through `conn`, the session that holds the lock."""

    id: UUID
    key: Key
    conn: Connection = field(repr=False)
    clock: Clock
    job_id: UUID
    trigger: Trigger
    actor: str
    started_at: datetime
    target: Target
    attempt: int = 1
    correlation_id: str | None = None
    parameters: Mapping[str, Any] = field(default_factory=dict)  # what its job asks for beyond the key
    is_closed: bool = False
    fetched: Any = field(default=None, repr=False)  # what a run reads once, whatever is tried again after

    def now(self) -> datetime:
        """The time of this run's next event, never before its start."""
        return max(self.clock.now(), self.started_at)

    def enter(self, stage: Stage) -> None:
        with session_errors(self.conn):
            runs.mark_stage(self.conn, self.id, stage, now=self.now())

    def note(self, event_name: str, *, at: datetime, **fields: Any) -> None:
        """One audit event of this run, in the transaction that is open."""
        note(
            self.conn,
            self.key,
            event_name,
            actor=self.actor,
            at=at,
            run_id=self.id,
            job_id=self.job_id,
            correlation_id=self.correlation_id,
            **fields,
        )


@dataclass(frozen=True)
class Pipeline:
    """What a pipeline brings to its runs. Each function runs in the transaction that opens or closes the record."""

    name: str
    policy: RetryPolicy
    find: Callable[[Connection, str], Target]
    on_start: Callable[[Run], None]
    on_failure: Callable[[Run], None]


@dataclass(frozen=True)
class Start:
    """Why a run starts."""

    trigger: Trigger = Trigger.MANUAL
    job_id: UUID | None = None
    submission: int | None = None  # of a flow run that the dispatcher submitted
    clock: Clock = field(default_factory=Clock)
    actor: str = "feedmill"
    parameters: Mapping[str, Any] = field(default_factory=dict)  # a job that is named has its own
