"""The statements on jobs, the durable intents: queued by a slot or a request, submitted, started, ended."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from uuid import UUID

from psycopg.types.json import Jsonb

from db.engine import Connection, Row, only_row
from db.enums import JobStatus, Recovery, RunStatus, Trigger
from db.ids import new_id
from db.sql import load_sql


@dataclass(frozen=True)
class Key:
    """What is locked, queued and run: a key of a pipeline of a tenant."""

    tenant_id: str
    pipeline: str
    key: str


@dataclass(frozen=True)
class NewJob:
    key: Key
    slot: datetime
    trigger: Trigger
    requested_by: str | None = None
    parameters: dict[str, Any] = field(default_factory=dict)
    id: UUID = field(default_factory=new_id)


@dataclass(frozen=True)
class Ending:
    """How a run and its job ended, in the words of the ledger."""

    run_status: RunStatus
    job_status: JobStatus
    error_code: str | None = None
    error_message: str | None = None
    error_class: Recovery | None = None
    counts: bool = False  # towards the failures that disable a key
    next_retry_at: datetime | None = None


def key_of(row: Row) -> Key:
    return Key(row["tenant_id"], row["pipeline"], row["key"])


def insert_jobs(conn: Connection, new: Sequence[NewJob], *, now: datetime) -> list[Row]:
    """Those that were queued: a taken slot or a busy key gets none."""
    params = {
        "ids": [job.id for job in new],
        "tenant_ids": [job.key.tenant_id for job in new],
        "pipelines": [job.key.pipeline for job in new],
        "keys": [job.key.key for job in new],
        "slots": [job.slot for job in new],
        "triggers": [job.trigger.value for job in new],
        "parameters": [json.dumps(job.parameters) for job in new],
        "requested_by": [job.requested_by for job in new],
        "correlation_ids": [str(job.id) for job in new],
        "now": now,
    }
    return conn.execute(load_sql("ledger/insert_jobs"), params).fetchall()


def lock_due_schedules(conn: Connection, *, now: datetime, limit: int) -> list[Row]:
    """Schedules with a slot due that no other dispatcher holds, held until the transaction ends."""
    return conn.execute(load_sql("ledger/lock_due_schedules"), {"now": now, "limit": limit}).fetchall()


def mark_next_runs(conn: Connection, next_runs: dict[int, datetime], *, now: datetime) -> None:
    params = {"ids": list(next_runs), "next_runs": list(next_runs.values()), "now": now}
    conn.execute(load_sql("ledger/mark_next_runs"), params)


def select_open_requests(conn: Connection, key: Key | None = None) -> list[Row]:
    """Requests that no run has honoured yet, of one key or of all."""
    params = {"pipeline": key.pipeline if key else None, "key": key.key if key else None}
    return conn.execute(load_sql("ledger/select_open_requests"), params).fetchall()


def mark_request(conn: Connection, key: Key, *, at: datetime, by: str) -> datetime:
    """The moment of the request, later than any before it."""
    row = only_row(conn.execute(load_sql("ledger/mark_request"), {**vars(key), "at": at, "by": by}))
    moment: datetime = row["manual_requested_at"]
    return moment


def requeue_due_retries(conn: Connection, *, now: datetime) -> list[Row]:
    return conn.execute(load_sql("ledger/requeue_due_retries"), {"now": now}).fetchall()


def select_submitted_jobs(conn: Connection) -> list[Row]:
    return conn.execute(load_sql("ledger/select_submitted_jobs")).fetchall()


def mark_unsubmitted(conn: Connection, job_id: UUID, *, submission: int, now: datetime) -> bool:
    params = {"id": job_id, "submission": submission, "now": now}
    return conn.execute(load_sql("ledger/mark_unsubmitted"), params).rowcount == 1


def mark_submissions(conn: Connection, *, now: datetime, limit: int) -> list[Row]:
    """Queued jobs that nobody has submitted, taken for submission."""
    return conn.execute(load_sql("ledger/mark_submissions"), {"now": now, "limit": limit}).fetchall()


def mark_flow_run(conn: Connection, job_id: UUID, *, submission: int, flow_run_id: UUID) -> None:
    params = {"id": job_id, "submission": submission, "flow_run_id": flow_run_id}
    conn.execute(load_sql("ledger/mark_flow_run"), params)


def cancel_jobs(conn: Connection, key: Key, *, error_code: str, error_message: str, now: datetime) -> list[Row]:
    """What waited for the key and will not be started any more."""
    params = {**vars(key), "error_code": error_code, "error_message": error_message, "now": now}
    return conn.execute(load_sql("ledger/cancel_jobs"), params).fetchall()


def requeue_lost_jobs(
    conn: Connection, key: Key, *, max_attempts: int, final_status: JobStatus, error_code: str, now: datetime
) -> list[Row]:
    """The jobs that said running though the caller holds their lock; queued again or ended."""
    params = {"max_attempts": max_attempts, "final_status": final_status, "error_code": error_code, "now": now}
    return conn.execute(load_sql("ledger/requeue_lost_jobs"), {**vars(key), **params}).fetchall()


def select_active_job(conn: Connection, key: Key) -> Row | None:
    return conn.execute(load_sql("ledger/select_active_job"), vars(key)).fetchone()


def start_job(
    conn: Connection,
    job_id: UUID,
    key: Key,
    *,
    submission: int | None,
    worker_instance: str,
    now: datetime,
    parameters: Mapping[str, Any] | None = None,
) -> Row | None:
    """The job as started, with these parameters unless its own count; None if it may not start, or not by this
    submission."""
    params: dict[str, Any] = {"id": job_id, "submission": submission, "worker_instance": worker_instance, "now": now}
    params["parameters"] = None if parameters is None else Jsonb(dict(parameters))
    return conn.execute(load_sql("ledger/start_job"), {**vars(key), **params}).fetchone()


def mark_run_of_job(conn: Connection, job_id: UUID, run_id: UUID) -> None:
    conn.execute(load_sql("ledger/mark_run_of_job"), {"id": job_id, "run_id": run_id})


def close_job(conn: Connection, job_id: UUID, ending: Ending, *, now: datetime) -> bool:
    """False if it was closed already."""
    params = {**vars(ending), "id": job_id, "status": ending.job_status, "now": now}
    return conn.execute(load_sql("ledger/close_job"), params).rowcount == 1


def upsert_tick(conn: Connection, *, now: datetime, worker_instance: str) -> None:
    conn.execute(load_sql("ledger/upsert_tick"), {"now": now, "worker_instance": worker_instance})


def select_overdue(conn: Connection, *, now: datetime) -> Row:
    """The newest tick and the oldest slot that is due."""
    return only_row(conn.execute(load_sql("ledger/select_overdue"), {"now": now}))
