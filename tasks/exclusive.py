"""One run per key at a time: the lock, the job, the record, and an ending whatever happens."""

import os
import platform
import random
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from uuid import UUID

from db import engine, jobs, runs
from db.engine import Connection, Row, transaction
from db.enums import JobStatus, Recovery, RunStatus, ScheduleStatus, Trigger
from db.errors import BadRequestError, BusyError, DatabaseError, FeedmillError
from db.ids import new_id
from db.jobs import Ending, Key, NewJob
from tasks import begun, ledger
from tasks.errors import classify, counts
from tasks.policy import RetryPolicy, judge
from tasks.redaction import hide
from tasks.run import Pipeline, Run, Start

LOCK_SECONDS = 2  # a lock that was just let go, or is looked at by the reaper, is not busy

SUCCEEDED = Ending(RunStatus.COMPLETED, JobStatus.SUCCESS)


class LockLostError(FeedmillError):
    """The session that held the lock is gone: this run may not write any more; the reaper closes its record."""

    code = "LOCK_LOST"


@contextmanager
def exclusive_run(pipeline: Pipeline, key: str, start: Start) -> Iterator[Run]:
    """A run of the key, begun under its lock. Refuses a busy key; closes the record of a body that did not."""
    with engine.connect() as conn:
        schedule = find_schedule(conn, pipeline.name, key)
        _take_lock(conn, schedule)
        run = _begin(conn, pipeline, schedule=schedule, start=start)
        try:
            begun.note(run.id)
            yield run
            if not run.is_closed:
                message = "the run ended without an outcome"
                raise AssertionError(message)  # noqa: TRY301 - closed like any other mistake
        except BaseException as error:
            _end_badly(run, pipeline, error)
            raise
        finally:
            if run.is_closed and not conn.closed:
                ledger.enqueue_requests(conn, now=run.now(), key=run.key)
                runs.release_lock(conn, schedule["lock_id"])  # now, not a moment after the session has gone


@contextmanager
def exclusive_session(pipeline: str, key: str, policy: RetryPolicy, *, now: datetime) -> Iterator[Connection]:
    """The key's lock without a run: for what must meet neither a run nor another of its kind. Refuses a busy key."""
    with engine.connect() as conn:
        schedule = find_schedule(conn, pipeline, key)
        _take_lock(conn, schedule)
        try:
            with transaction(conn):
                of = Key(schedule["tenant_id"], pipeline, key)
                ledger.close_the_dead(conn, of, policy, now=now, lost=ledger.Lost())
            yield conn
        finally:
            if not conn.closed:
                runs.release_lock(conn, schedule["lock_id"])


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
    runs.keep_session(conn)
    if not runs.take_lock(conn, schedule["lock_id"], seconds=LOCK_SECONDS):
        raise busy(schedule)


def _begin(conn: Connection, pipeline: Pipeline, *, schedule: Row, start: Start) -> Run:
    """Under the lock and before anything else is touched: close the dead, look again, make the record."""
    key = Key(schedule["tenant_id"], pipeline.name, schedule["key"])
    now = start.clock.stamp(pipeline.find(conn, key.key).last_stamp_at)
    with transaction(conn):
        ledger.close_the_dead(conn, key, pipeline.policy, now=now, lost=ledger.Lost())
    _look_again(conn, key, start, now=now)
    with transaction(conn):
        run = _open_record(conn, pipeline, key=key, start=start, now=now)
        pipeline.on_start(run)
    return run


def _look_again(conn: Connection, key: Key, start: Start, *, now: datetime) -> None:
    """The key may have been paused since its job was queued: then the job is canceled, and there is no record."""
    try:
        refuse_unless_enabled(find_schedule(conn, key.pipeline, key.key))
    except BadRequestError as reason:
        ledger.cancel(conn, key, reason=reason, actor=start.actor, now=now)
        raise


def _open_record(conn: Connection, pipeline: Pipeline, *, key: Key, start: Start, now: datetime) -> Run:
    run_id, worker, target = new_id(), worker_instance(), pipeline.find(conn, key.key)
    job_id = _job(conn, key, start, now=now)
    job = jobs.start_job(
        conn,
        job_id,
        key,
        submission=start.submission,
        worker_instance=worker,
        now=now,
        parameters=None if start.job_id and not start.parameters else start.parameters,  # a named job has its own
    )
    if job is None:
        message = f"the job {job_id} is not waiting for this run: it was started, canceled or submitted anew"
        raise BadRequestError(message, code="JOB_NOT_WAITING")
    trigger = start.trigger if start.parameters else job["trigger"]  # asked for something else than what waited
    record = {
        "id": run_id,
        "source_id": target.source_id,
        "job_id": job_id,
        "trigger": trigger,
        "worker_instance": worker,
        "correlation_id": job["correlation_id"],
    }
    runs.insert_run(conn, key, record, now=now)
    jobs.mark_run_of_job(conn, job_id, run_id)
    run = Run(
        run_id,
        key,
        conn,
        start.clock,
        job_id=job_id,
        trigger=Trigger(trigger),
        actor=start.actor,
        started_at=now,
        target=target,
        attempt=job["attempt"],
        correlation_id=job["correlation_id"],
        parameters=job["parameters"],
    )
    run.note("job.started", at=now, attempt=run.attempt)
    return run


def _job(conn: Connection, key: Key, start: Start, *, now: datetime) -> UUID:
    """The job to start: the one named, the one that waits, or a new one."""
    if start.job_id is not None:
        return start.job_id
    slot = now
    while True:
        waiting = jobs.select_active_job(conn, key)  # perhaps queued by a dispatcher this moment
        if waiting is None:
            waiting = ledger.enqueue(conn, NewJob(key, slot, start.trigger, start.actor), now=now, actor=start.actor)
        if waiting is not None:
            return UUID(str(waiting["id"]))
        slot += timedelta(microseconds=1)  # two requests at one moment, as happens with --at, are two slots


def succeed(run: Run, *, at: datetime) -> None:
    """Close run and job as done, in the transaction that is open."""
    if not runs.close_run(run.conn, run.id, SUCCEEDED, now=at):
        message = "the record of this run was closed by somebody else"
        raise LockLostError(message)
    jobs.close_job(run.conn, run.job_id, SUCCEEDED, now=at)
    runs.mark_success(run.conn, run.key, now=at)
    run.note("job.completed", at=at, duration_seconds=(at - run.started_at).total_seconds())


def _end_badly(run: Run, pipeline: Pipeline, error: BaseException) -> None:
    """Close the record as failed, unless the run lost its lock with its session: then it may not write."""
    if run.is_closed:
        return
    if run.conn.closed:
        raise LockLostError from error
    at = run.now()
    ending = _ending(error, run, pipeline.policy, at=at)
    with transaction(run.conn):
        runs.close_run(run.conn, run.id, ending, now=at)
        jobs.close_job(run.conn, run.job_id, ending, now=at)
        pipeline.on_failure(run)
        _note_failure(run, ending, at=at)
        ledger.count_failure(
            run.conn,
            run.key,
            pipeline.policy,
            now=at,
            actor=run.actor,
            error_code=ending.error_code,
            counts=ending.counts,
        )
    run.is_closed = True


def _ending(error: BaseException, run: Run, policy: RetryPolicy, *, at: datetime) -> Ending:
    if not isinstance(error, Exception):  # Ctrl-C, SIGTERM in Prefect's words, an exit
        canceled = (RunStatus.CANCELED, JobStatus.CANCELED, "CANCELED_BY_OPERATOR", "stopped by an operator")
        return Ending(*canceled, error_class=Recovery.TRANSIENT)
    code = error.code if isinstance(error, FeedmillError) else "UNEXPECTED"
    message = hide(error.message if isinstance(error, FeedmillError) else f"{type(error).__name__}: {error}")
    recovery = classify(error)
    verdict = judge(policy, recovery, attempt=run.attempt, chance=random.random)
    return Ending(
        RunStatus.FAILED,
        verdict.status,
        code,
        message,
        error_class=recovery,
        counts=verdict.retry_after is None and counts(error),
        next_retry_at=at + verdict.retry_after if verdict.retry_after else None,
    )


def _note_failure(run: Run, ending: Ending, *, at: datetime) -> None:
    if ending.job_status is JobStatus.CANCELED:
        run.note("job.canceled", at=at, error_code=ending.error_code)
        return
    fields = {"error_code": ending.error_code, "error_message": ending.error_message}
    run.note("job.failed", at=at, **fields)
    if ending.next_retry_at:
        run.note("job.retry", at=at, retry_count=run.attempt, delay_seconds=(ending.next_retry_at - at).total_seconds())
    if ending.job_status is JobStatus.DEAD_LETTER:
        run.note("job.dead_lettered", at=at, retry_count=run.attempt, **fields)


def worker_instance() -> str:
    return f"{platform.node()}:{os.getpid()}"
