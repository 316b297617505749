"""A pipeline without work, for tests of the kernel: its schedules are put on file by hand, its runs end as told."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta

import pytest

from db import jobs, runs
from db.clock import Clock
from db.engine import Connection, Row, transaction
from db.enums import Recovery, Trigger
from db.jobs import Key, NewJob
from tasks import exclusive, ledger, policy
from tasks.errors import IngestError
from tasks.exclusive import LockLostError
from tasks.ledger import Policies
from tasks.policy import RetryPolicy
from tasks.run import Pipeline, Run, Start, Target
from tests.builders import NOON, insert

PIPELINE = "toy"
HOUR = timedelta(hours=1)


def after(hours: float) -> datetime:
    """So many hours after the first slot."""
    return NOON + hours * HOUR


def eventually(condition: Callable[[], object]) -> None:
    deadline = time.monotonic() + 30
    while not condition():
        assert time.monotonic() < deadline, "did not happen within half a minute"
        time.sleep(0.005)


class ToyError(IngestError):
    """It broke."""

    recovery = Recovery.TRANSIENT
    code = "TOY_BROKE"


class BadToyError(ToyError):
    """It will break again."""

    recovery = Recovery.PERMANENT
    code = "BAD_TOY"


def toy_pipeline(of: RetryPolicy = policy.CATALOGUE) -> Pipeline:
    """What any pipeline brings, and nothing more."""
    return Pipeline(
        PIPELINE, of, find=lambda _, key: Target(key, None, {}), on_start=lambda _: None, on_failure=lambda _: None
    )


def end_well(run: Run) -> None:
    with transaction(run.conn):
        exclusive.succeed(run, at=run.now())
    run.is_closed = True


@dataclass(frozen=True)
class Toys:
    """The ledger as a test sees it, through one connection."""

    conn: Connection
    policy: RetryPolicy = field(default_factory=lambda: policy.CATALOGUE)

    def key(self, name: str = "bear", **columns: object) -> Key:
        """A key on the schedule: enabled, every hour, first due at noon."""
        row = {"status": "ENABLED", "interval_seconds": 3600, "next_run_at": NOON, **columns}
        insert(self.conn, "schedules", pipeline=PIPELINE, key=name, **row)
        return Key("default", PIPELINE, name)

    def job(self, key: Key, status: str = "queued", **columns: object) -> Row:
        """A job put on file by hand, complete for its status."""
        times = {}
        if status not in {"queued", "waiting"}:
            times["started_at"] = NOON
        if status not in {"queued", "waiting", "running"}:
            times["finished_at"] = NOON
        if status == "waiting":
            times["next_retry_at"], status = after(1), "failed"
        return insert(self.conn, "ingestion_jobs", **vars(key), status=status, **times, **columns)

    def enqueue(self, key: Key, slot: datetime = NOON) -> Row | None:
        return ledger.enqueue(self.conn, NewJob(key, slot, Trigger.SCHEDULED), now=slot)

    def schedule(self, key: Key) -> Row:
        return self._all("schedules", key, order="id")[0]

    def jobs(self, key: Key) -> list[Row]:
        """By slot, oldest first."""
        return self._all("ingestion_jobs", key, order="slot")

    def only_job(self, key: Key) -> Row:
        [job] = self.jobs(key)
        return job

    def runs(self, key: Key) -> list[Row]:
        """Oldest first."""
        return self._all("ingestion_runs", key, order="id")

    def events(self, key: Key, *names: str) -> list[Row]:
        """Audit events, of these names if any are given, in their order."""
        found = self._all("audit_events", key, order="id")
        return [event for event in found if not names or event["event_name"] in names]

    def _all(self, table: str, key: Key, *, order: str) -> list[Row]:
        statement = f"SELECT * FROM {table} WHERE tenant_id = %s AND pipeline = %s AND key = %s ORDER BY {order}"  # noqa: S608
        return self.conn.execute(statement, list(vars(key).values())).fetchall()

    @contextmanager
    def running(self, key: Key, at: datetime = NOON, **start: object) -> Iterator[Run]:
        """A run under its lock, which the body must end."""
        with exclusive.exclusive_run(toy_pipeline(self.policy), key.key, Start(clock=Clock(at), **start)) as run:
            yield run

    def succeed(self, key: Key, at: datetime = NOON, **start: object) -> Run:
        with self.running(key, at, **start) as run:
            end_well(run)
        return run

    def fail(self, key: Key, at: datetime = NOON, *, error: type[BaseException] = ToyError, **start: object) -> None:
        with pytest.raises(error), self.running(key, at, **start):
            raise error

    def crash(self, key: Key, at: datetime = NOON, **start: object) -> None:
        """What a killed process leaves: a job and a record that say running, and a free lock."""
        with pytest.raises(LockLostError), self.running(key, at, **start) as run:
            run.conn.close()
        eventually(lambda: not self.is_locked(key))  # Postgres ends the session a moment after it was closed

    def is_locked(self, key: Key) -> bool:
        return runs.lock_is_held(self.conn, self.schedule(key)["lock_id"])

    def reap(self, at: datetime = NOON, **lost: object) -> int:
        policies = Policies({PIPELINE: self.policy})
        return ledger.reap(self.conn, policies, now=at, lost=ledger.Lost(**lost))

    def start(self, job: Row, *, submission: int | None = None, at: datetime = NOON) -> Row | None:
        """As a process would that holds the lock."""
        key = jobs.key_of(job)
        return jobs.start_job(self.conn, job["id"], key, submission=submission, worker_instance="here:1", now=at)
