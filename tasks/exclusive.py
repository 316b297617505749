"""One run per key at a time: the lock, the job, the record, and an ending whatever happens."""

import os
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from uuid import UUID

from db import engine, ledger, runs
from db.clock import Clock
from db.engine import Connection, Row, transaction
from db.enums import JobStatus, Level, Recovery, RunStatus, ScheduleStatus, Stage, Trigger
from db.errors import BadRequestError, BusyError, DatabaseError, FeedmillError
from db.ids import new_id
from db.runs import Ending, Key
from tasks.errors import classify
from tasks.policy import RetryPolicy

LOCK_SECONDS = 2  # a lock that was just let go, or is looked at by the reaper, is not busy

SUCCEEDED = Ending(RunStatus.COMPLETED, JobStatus.SUCCESS)


class LockLostError(FeedmillError):
    """The session that held the lock is gone: this run may not write any more; the reaper closes its record."""

    code = "LOCK_LOST"


@dataclass(frozen=True)
class Target:
    """What a run is about, as its pipeline knows it."""

    source_id: str
    last_stamp_at: datetime | None
    details: Row


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
    is_closed: bool = False

    def now(self) -> datetime:
        """The time of this run's next event, never before its start."""
        return max(self.clock.now(), self.started_at)

    def enter(self, stage: Stage) -> None:
        runs.mark_stage(self.conn, self.id, stage, now=self.now())

    def note(self, event_name: str, *, at: datetime, level: Level = Level.INFO, **fields: object) -> None:
        """One audit event of this run, in the transaction that is open."""
        event = ledger.AuditEvent(
            tenant_id=self.key.tenant_id,
            event_name=event_name,
            level=level,
            actor=self.actor,
            occurred_at=at,
            pipeline=self.key.pipeline,
            key=self.key.key,
            run_id=self.id,
            job_id=self.job_id,
            fields=fields,
        )
        ledger.append_audit_event(self.conn, event)


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
    clock: Clock = field(default_factory=Clock)
    actor: str = "feedmill"


@contextmanager
def exclusive_run(pipeline: Pipeline, key: str, start: Start) -> Iterator[Run]:
    """A run of the key, begun under its lock. Refuses a busy key; closes the record of a body that did not."""
    with engine.connect() as conn:
        schedule = find_schedule(conn, pipeline.name, key)
        _take_lock(conn, schedule)
        run = _begin(conn, pipeline, schedule=schedule, start=start)
        try:
            yield run
        except BaseException as error:
            _end_badly(run, pipeline, error)
            raise
        if not run.is_closed:
            message = "the run ended without an outcome"
            forgotten = AssertionError(message)
            _end_badly(run, pipeline, forgotten)
            raise forgotten


def find_schedule(conn: Connection, pipeline: str, key: str) -> Row:
    schedule = runs.select_schedule(conn, pipeline, key)
    if schedule is None:
        message = f"there is no {pipeline} key {key!r}"
        raise BadRequestError(message, code="UNKNOWN_FEED", hint="see the feeds on file with: feedmill feeds list")
    return schedule


def refuse_unless_enabled(schedule: Row) -> None:
    if schedule["status"] != ScheduleStatus.ENABLED:
        message = f"{schedule['key']} is {schedule['status'].lower()}, so it does not run"
        raise BadRequestError(message, code="FEED_NOT_ENABLED", hint=_way_back(schedule))


def _way_back(schedule: Row) -> str:
    ways = {ScheduleStatus.DRAFT: "enable", ScheduleStatus.PAUSED: "resume", ScheduleStatus.DISABLED: "reenable"}
    way = ways.get(schedule["status"])
    return f"let it run with: feedmill feeds {way} {schedule['key']}" if way else ""


def refuse_if_busy(conn: Connection, schedule: Row) -> None:
    if runs.lock_is_held(conn, schedule["lock_id"]):
        raise busy(schedule)


def busy(schedule: Row) -> BusyError:
    message = f"{schedule['key']} is busy: a run or an approval is under way"
    return BusyError(message)


def _take_lock(conn: Connection, schedule: Row) -> None:
    if runs.is_pooled(conn):
        message = "a connection pooler lies between feedmill and Postgres, so a lock would not hold"
        raise DatabaseError(message, code="POOLER_REFUSED", hint="let FEEDMILL_DATABASE_URL name the server itself")
    conn.execute("SET idle_session_timeout = 0")
    if not runs.take_lock(conn, schedule["lock_id"], seconds=LOCK_SECONDS):
        raise busy(schedule)


def _begin(conn: Connection, pipeline: Pipeline, *, schedule: Row, start: Start) -> Run:
    """Under the lock and before anything else is touched: close the dead, look again, make the record."""
    key = Key(schedule["tenant_id"], pipeline.name, schedule["key"])
    now = start.clock.stamp(pipeline.find(conn, key.key).last_stamp_at)
    with transaction(conn):
        close_the_dead(conn, key, pipeline.policy, now=now)
    with transaction(conn):
        refuse_unless_enabled(find_schedule(conn, pipeline.name, key.key))  # it may have been paused since
        run_id, worker, target = new_id(), worker_instance(), pipeline.find(conn, key.key)
        job = _job(conn, key, start, now=now)
        started = runs.start_job(conn, job["id"], worker_instance=worker, now=now)
        if started is None:
            message = f"the job {job['id']} may not start any more"
            raise BadRequestError(message, code="JOB_NOT_QUEUED")
        record = {
            "id": run_id,
            "source_id": target.source_id,
            "job_id": job["id"],
            "trigger": started["trigger"],
            "worker_instance": worker,
            "correlation_id": started["correlation_id"],
        }
        runs.insert_run(conn, key, record, now=now)
        runs.mark_run_of_job(conn, job["id"], run_id)
        run = Run(run_id, key, conn, start.clock, job["id"], Trigger(started["trigger"]), start.actor, now, target)
        pipeline.on_start(run)
        run.note("job.started", at=now, attempt=started["attempt"])
    return run


def close_the_dead(conn: Connection, key: Key, policy: RetryPolicy, *, now: datetime) -> None:
    """Whoever holds the lock knows that no other process of this key lives."""
    runs.close_lost_runs(conn, key, now=now)
    for job in runs.requeue_lost_jobs(conn, key, max_attempts=policy.crash_attempts, now=now):
        if job["status"] == JobStatus.FAILED:
            runs.mark_failure(conn, key, counts=True, failures_to_disable=policy.failures_to_disable, now=now)


def _job(conn: Connection, key: Key, start: Start, *, now: datetime) -> Row:
    """The job to start: the one named, the one that waits, or a new one."""
    if start.job_id is not None:
        return {"id": start.job_id}
    waiting = runs.select_active_job(conn, key)
    if waiting is not None:
        return waiting
    new = {"id": new_id(), "trigger": start.trigger, "requested_by": start.actor, "correlation_id": str(new_id())}
    return runs.insert_manual_job(conn, key, new, now=now)


def succeed(run: Run, *, at: datetime) -> None:
    """Close run and job as done, in the transaction that is open."""
    if not runs.close_run(run.conn, run.id, SUCCEEDED, now=at):
        message = "the record of this run was closed by somebody else"
        raise LockLostError(message)
    runs.close_job(run.conn, run.job_id, SUCCEEDED, now=at)
    runs.mark_success(run.conn, run.key, now=at)
    run.note("job.completed", at=at, duration_seconds=(at - run.started_at).total_seconds())


def _end_badly(run: Run, pipeline: Pipeline, error: BaseException) -> None:
    """Close the record as failed, unless the run lost its lock with its session: then it may not write."""
    if run.is_closed:
        return
    if run.conn.closed or run.conn.broken:
        raise LockLostError from error
    ending, at = _ending(error), run.now()
    with transaction(run.conn):
        runs.close_run(run.conn, run.id, ending, now=at)
        runs.close_job(run.conn, run.job_id, ending, now=at)
        limit = pipeline.policy.failures_to_disable
        after = runs.mark_failure(run.conn, run.key, counts=ending.counts, failures_to_disable=limit, now=at)
        pipeline.on_failure(run)
        fields = {"error_code": ending.error_code, "error_message": ending.error_message}
        run.note("job.failed", at=at, level=Level.WARN, **fields)
        if ending.counts and after["status"] == ScheduleStatus.DISABLED:
            failures = after["consecutive_failures"]
            run.note("FEED_AUTO_DISABLED", at=at, level=Level.WARN, consecutive_failures=failures, **fields)
    run.is_closed = True


def _ending(error: BaseException) -> Ending:
    if isinstance(error, KeyboardInterrupt | SystemExit):
        canceled = (RunStatus.CANCELED, JobStatus.CANCELED, "CANCELED_BY_OPERATOR", "stopped by an operator")
        return Ending(*canceled, error_class=Recovery.TRANSIENT)
    code = error.code if isinstance(error, FeedmillError) else "UNEXPECTED"
    message = str(error) if isinstance(error, FeedmillError) else f"{type(error).__name__}: {error}"
    return Ending(RunStatus.FAILED, JobStatus.FAILED, code, message, error_class=classify(error), counts=True)


def worker_instance() -> str:
    return f"{socket.gethostname()}:{os.getpid()}"
