"""The kernel: what may run when. Each function is one transaction; any number of processes may call them at once."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta

from db import jobs, runs
from db.engine import Connection, Row, transaction
from db.enums import JobStatus, ScheduleStatus, Trigger
from db.errors import FeedmillError
from db.jobs import Key, NewJob, key_of
from tasks.audit import note
from tasks.policy import RetryPolicy
from tasks.slots import Claim, Due, claim

CLAIM_BATCH = 500
ACTOR = "dispatcher"

WORKER_LOST = "WORKER_LOST"
STARTUP_RECOVERY = "worker_startup_recovery"


@dataclass(frozen=True)
class Lost:
    """How to speak of a process that is gone, and who found out."""

    error_code: str = WORKER_LOST
    at_startup: bool = False


class Policies(dict[str, RetryPolicy]):
    """Policy by pipeline. A pipeline that is not known here fails at its first loss: nobody knows better."""

    def __missing__(self, pipeline: str) -> RetryPolicy:
        return RetryPolicy()


def enqueue(conn: Connection, new: NewJob, *, now: datetime, actor: str = ACTOR) -> Row | None:
    """The queued job, or None if its slot is taken or its key has an active one."""
    with transaction(conn):
        return next(iter(_queue(conn, [new], now=now, actor=actor)), None)


def claim_due(conn: Connection, *, now: datetime) -> int:
    """Queue a job for every slot that has come, once, whatever number of dispatchers run; how many."""
    claimed = 0
    while True:
        with transaction(conn):
            due = jobs.lock_due_schedules(conn, now=now, limit=CLAIM_BATCH)
            claims = {row["id"]: _claim(row, now=now) for row in due}
            if not claims:
                return claimed
            jobs.mark_next_runs(conn, {id_: made.next_run_at for id_, made in claims.items()}, now=now)
            claimed += len(_queue(conn, _claimed_jobs(due, claims), now=now, actor=ACTOR))
            for row in due:
                if row["is_active"] and claims[row["id"]].slot is not None:
                    slot = claims[row["id"]].slot
                    note(conn, key_of(row), "SKIPPED_LOCK_BUSY", actor=ACTOR, at=now, slot=str(slot))


def _claim(row: Row, *, now: datetime) -> Claim:
    grace = row["misfire_grace_seconds"]
    due = Due(
        row["next_run_at"],
        timedelta(seconds=row["interval_seconds"]),
        is_coalesced=row["is_coalesced"],
        misfire_grace=None if grace is None else timedelta(seconds=grace),
    )
    return claim(due, now=now)


def _claimed_jobs(due: Iterable[Row], claims: dict[int, Claim]) -> list[NewJob]:
    """A slot that comes while its key is active is passed over."""
    return [
        NewJob(key_of(row), slot, Trigger.SCHEDULED)
        for row in due
        if (slot := claims[row["id"]].slot) is not None and not row["is_active"]
    ]


def _queue(conn: Connection, new: list[NewJob], *, now: datetime, actor: str) -> list[Row]:
    queued = jobs.insert_jobs(conn, new, now=now) if new else []
    for job in queued:
        ids = {"job_id": job["id"], "correlation_id": job["correlation_id"]}
        note(conn, key_of(job), "job.queued", actor=actor, at=now, slot=str(job["slot"]), trigger=job["trigger"], **ids)
    return queued


def request(conn: Connection, key: Key, *, by: str, now: datetime) -> datetime:
    """Remember that a run is wanted; the moment of the request. Whether it is still open is derived."""
    with transaction(conn):
        at = jobs.mark_request(conn, key, at=now, by=by)
        note(conn, key, "MANUAL_RUN_REQUESTED", actor=by, at=at)
    return at


def enqueue_requests(conn: Connection, *, now: datetime, key: Key | None = None) -> int:
    """Queue a job for every open request, of one key or of all; how many."""
    with transaction(conn):
        new = [_requested_job(row) for row in jobs.select_open_requests(conn, key)]
        return len(_queue(conn, new, now=now, actor=ACTOR))


def _requested_job(row: Row) -> NewJob:
    trigger = Trigger.MANUAL_PENDING if row["came_during_run"] else Trigger.MANUAL
    return NewJob(key_of(row), row["slot"], trigger, requested_by=row["manual_requested_by"])


def retry_due(conn: Connection, *, now: datetime) -> int:
    """Queue again the jobs whose wait is over; how many."""
    with transaction(conn):
        return len(jobs.requeue_due_retries(conn, now=now))


def cancel(conn: Connection, key: Key, *, reason: FeedmillError, actor: str, now: datetime) -> int:
    """End what waits for the key, in the caller's transaction or one of its own; how many."""
    with transaction(conn):
        code, message = reason.code, reason.message
        canceled = jobs.cancel_jobs(conn, key, error_code=code, error_message=message, now=now)
        for job in canceled:
            note(conn, key, "job.canceled", actor=actor, at=now, job_id=job["id"], error_code=code)
        return len(canceled)


def reap(conn: Connection, policy_of: Policies, *, now: datetime, lost: Lost | None = None) -> int:
    """Close whatever says running while its lock is free; how many keys. A slow run keeps its lock and is left be."""
    reaped = 0
    for row in runs.select_lost_keys(conn):
        with transaction(conn):
            if runs.take_lock_to_close(conn, row["lock_id"]):
                key = key_of(row)
                reaped += close_the_dead(conn, key, policy_of[key.pipeline], now=now, lost=lost or Lost())
    return reaped


def close_the_dead(conn: Connection, key: Key, policy: RetryPolicy, *, now: datetime, lost: Lost) -> bool:
    """Close the runs and jobs of a key whose lock the caller holds: no other process of it lives."""
    closed = runs.close_lost_runs(conn, key, error_code=lost.error_code, now=now)
    final = JobStatus.FAILED if lost.at_startup else policy.lost_status
    attempts = policy.crash_attempts
    ended = jobs.requeue_lost_jobs(
        conn, key, max_attempts=attempts, final_status=final, error_code=lost.error_code, now=now
    )
    for job in ended:
        _note_lost(conn, key, job, lost=lost, now=now)
        if job["status"] == JobStatus.FAILED:
            count_failure(conn, key, policy, now=now, actor=ACTOR, error_code=lost.error_code)
    return bool(closed or ended)


def _note_lost(conn: Connection, key: Key, job: Row, *, lost: Lost, now: datetime) -> None:
    name = "job.retry" if job["status"] == JobStatus.QUEUED else "job.failed"
    fields = {"error_code": lost.error_code, "retry_count": job["attempt"]}
    note(conn, key, name, actor=ACTOR, at=now, job_id=job["id"], **fields)


def count_failure(
    conn: Connection,
    key: Key,
    policy: RetryPolicy,
    *,
    now: datetime,
    actor: str,
    error_code: str | None,
    counts: bool = True,
) -> None:
    """A run of the key failed; one that counts may be the one that disables it. In the caller's transaction."""
    limit = policy.failures_to_disable
    after = runs.mark_failure(conn, key, counts=counts, failures_to_disable=limit or 2**31 - 1, now=now)
    if counts and after["consecutive_failures"] == limit and after["status"] == ScheduleStatus.DISABLED:
        failures = after["consecutive_failures"]
        note(conn, key, "FEED_AUTO_DISABLED", actor=actor, at=now, consecutive_failures=failures, last_error=error_code)
        reason = FeedmillError("disabled due to repeated failures", code="FEED_DISABLED")
        cancel(conn, key, reason=reason, actor=actor, now=now)
