"""The statements of a run's life: its lock, its job, its record, its end."""

import time
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from db.engine import Connection, Row, only_row
from db.enums import JobStatus, Recovery, RunStatus, Stage
from db.sql import load_sql

_LOCK_POLL_SECONDS = 0.05


@dataclass(frozen=True)
class Key:
    """What is locked, queued and run: a key of a pipeline of a tenant."""

    tenant_id: str
    pipeline: str
    key: str


@dataclass(frozen=True)
class Ending:
    """How a run ended, in the words of the ledger."""

    run_status: RunStatus
    job_status: JobStatus
    error_code: str | None = None
    error_message: str | None = None
    error_class: Recovery | None = None
    counts: bool = False  # towards the failures that disable a key


def select_schedule(conn: Connection, pipeline: str, key: str) -> Row | None:
    return conn.execute(load_sql("ledger/select_schedule"), {"pipeline": pipeline, "key": key}).fetchone()


def take_lock(conn: Connection, lock_id: int, *, seconds: float) -> bool:
    """Hold the lock with this session until it ends; False if others hold it all the while."""
    deadline = time.monotonic() + seconds
    while True:
        if only_row(conn.execute("SELECT pg_try_advisory_lock(%s) AS taken", [lock_id]))["taken"]:
            return True
        if time.monotonic() >= deadline:
            return False
        time.sleep(_LOCK_POLL_SECONDS)


def lock_is_held(conn: Connection, lock_id: int) -> bool:
    return bool(only_row(conn.execute(load_sql("ledger/lock_is_held"), {"lock_id": lock_id}))["held"])


def is_pooled(conn: Connection) -> bool:
    """Whether something between us and the server hands out other sessions than the one we think we have."""
    return bool(only_row(conn.execute("SELECT pg_backend_pid() AS pid"))["pid"] != conn.info.backend_pid)


def close_lost_runs(conn: Connection, key: Key, *, now: datetime) -> list[Row]:
    """The runs that said RUNNING though the caller holds their lock; closed."""
    return conn.execute(load_sql("ledger/close_lost_runs"), {**vars(key), "now": now}).fetchall()


def requeue_lost_jobs(conn: Connection, key: Key, *, max_attempts: int, now: datetime) -> list[Row]:
    """The jobs that said running though the caller holds their lock; queued again or failed."""
    params = {**vars(key), "max_attempts": max_attempts, "now": now}
    return conn.execute(load_sql("ledger/requeue_lost_jobs"), params).fetchall()


def select_active_job(conn: Connection, key: Key) -> Row | None:
    return conn.execute(load_sql("ledger/select_active_job"), vars(key)).fetchone()


def insert_manual_job(conn: Connection, key: Key, job: dict[str, Any], *, now: datetime) -> Row:
    return only_row(conn.execute(load_sql("ledger/insert_manual_job"), {**vars(key), **job, "now": now}))


def start_job(conn: Connection, job_id: UUID, *, worker_instance: str, now: datetime) -> Row | None:
    """The job as started, or None if it may not start any more."""
    params = {"id": job_id, "worker_instance": worker_instance, "now": now}
    return conn.execute(load_sql("ledger/start_job"), params).fetchone()


def insert_run(conn: Connection, key: Key, run: dict[str, Any], *, now: datetime) -> None:
    conn.execute(load_sql("ledger/insert_run"), {**vars(key), **run, "now": now})


def mark_run_of_job(conn: Connection, job_id: UUID, run_id: UUID) -> None:
    conn.execute(load_sql("ledger/mark_run_of_job"), {"id": job_id, "run_id": run_id})


def mark_stage(conn: Connection, run_id: UUID, stage: Stage, *, now: datetime) -> None:
    conn.execute(load_sql("ledger/mark_stage"), {"id": run_id, "stage": stage, "now": now})


def close_run(conn: Connection, run_id: UUID, ending: Ending, *, now: datetime) -> bool:
    """False if it was closed already."""
    params = {**vars(ending), "id": run_id, "status": ending.run_status, "now": now}
    return conn.execute(load_sql("ledger/close_run"), params).rowcount == 1


def close_job(conn: Connection, job_id: UUID, ending: Ending, *, now: datetime) -> bool:
    """False if it was closed already."""
    params = {**vars(ending), "id": job_id, "status": ending.job_status, "now": now}
    return conn.execute(load_sql("ledger/close_job"), params).rowcount == 1


def mark_success(conn: Connection, key: Key, *, now: datetime) -> None:
    conn.execute(load_sql("ledger/mark_success"), {**vars(key), "now": now})


def mark_failure(conn: Connection, key: Key, *, counts: bool, failures_to_disable: int, now: datetime) -> Row:
    """Status and failures in a row of the schedule afterwards."""
    params = {**vars(key), "counts": counts, "failures_to_disable": failures_to_disable, "now": now}
    return only_row(conn.execute(load_sql("ledger/mark_failure"), params))
