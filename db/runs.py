"""The statements of a run's life: its lock, its record, its end."""

import time
from datetime import datetime
from typing import Any
from uuid import UUID

from db.engine import Connection, Row, only_row
from db.enums import Stage
from db.jobs import Ending, Key
from db.sql import load_sql

_LOCK_POLL_SECONDS = 0.05


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


def release_lock(conn: Connection, lock_id: int) -> None:
    conn.execute("SELECT pg_advisory_unlock(%s)", [lock_id])


def take_lock_to_close(conn: Connection, lock_id: int) -> bool:
    """Hold the lock until the transaction ends, if it is free."""
    return bool(only_row(conn.execute("SELECT pg_try_advisory_xact_lock(%s) AS taken", [lock_id]))["taken"])


def keep_session(conn: Connection) -> None:
    """A session that holds a lock may idle while a file is fetched; no server setting may end it then."""
    conn.execute("SET idle_session_timeout = 0")


def lock_is_held(conn: Connection, lock_id: int) -> bool:
    return bool(only_row(conn.execute(load_sql("ledger/lock_is_held"), {"lock_id": lock_id}))["held"])


def select_lost_keys(conn: Connection) -> list[Row]:
    """Keys that say running though nobody holds their lock."""
    return conn.execute(load_sql("ledger/select_lost_keys")).fetchall()


def is_pooled(conn: Connection) -> bool:
    """Whether something between us and the server hands out other sessions than the one we think we have."""
    return bool(only_row(conn.execute("SELECT pg_backend_pid() AS pid"))["pid"] != conn.info.backend_pid)


def close_lost_runs(conn: Connection, key: Key, *, error_code: str, now: datetime) -> list[Row]:
    """The runs that said running though the caller holds their lock; closed."""
    params = {**vars(key), "error_code": error_code, "now": now}
    return conn.execute(load_sql("ledger/close_lost_runs"), params).fetchall()


def insert_run(conn: Connection, key: Key, run: dict[str, Any], *, now: datetime) -> None:
    conn.execute(load_sql("ledger/insert_run"), {**vars(key), **run, "now": now})


def mark_stage(conn: Connection, run_id: UUID, stage: Stage, *, now: datetime) -> None:
    conn.execute(load_sql("ledger/mark_stage"), {"id": run_id, "stage": stage, "now": now})


def close_run(conn: Connection, run_id: UUID, ending: Ending, *, now: datetime) -> bool:
    """False if it was closed already."""
    params = {**vars(ending), "id": run_id, "status": ending.run_status, "now": now}
    return conn.execute(load_sql("ledger/close_run"), params).rowcount == 1


def mark_success(conn: Connection, key: Key, *, now: datetime) -> None:
    conn.execute(load_sql("ledger/mark_success"), {**vars(key), "now": now})


def mark_failure(conn: Connection, key: Key, *, counts: bool, failures_to_disable: int, now: datetime) -> Row:
    """Status and failures in a row of the schedule afterwards."""
    params = {**vars(key), "counts": counts, "failures_to_disable": failures_to_disable, "now": now}
    return only_row(conn.execute(load_sql("ledger/mark_failure"), params))
