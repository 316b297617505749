"""The ledger's statements: schedules, jobs, runs and audit events."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from psycopg.errors import ForeignKeyViolation, UniqueViolation
from psycopg.types.json import Jsonb

from db.engine import Connection, Row, only_row
from db.enums import Level, ScheduleStatus
from db.errors import BadRequestError
from db.sql import load_sql


def select_tenant(conn: Connection, tenant_id: str) -> Row | None:
    return conn.execute(load_sql("ledger/select_tenant"), {"tenant_id": tenant_id}).fetchone()


@dataclass(frozen=True)
class NewSchedule:
    tenant_id: str
    pipeline: str
    key: str
    status: ScheduleStatus
    interval_seconds: int | None
    next_run_at: datetime | None


def insert_schedule(conn: Connection, new: NewSchedule, *, now: datetime) -> int:
    """Its id; refuses a key that exists and a tenant that does not."""
    try:
        row = only_row(conn.execute(load_sql("ledger/insert_schedule"), {**vars(new), "now": now}))
    except UniqueViolation:
        message = f"the key {new.key!r} is taken"
        raise BadRequestError(message, code="KEY_EXISTS", hint="removed feeds keep their key; choose another") from None
    except ForeignKeyViolation:
        message = f"there is no tenant {new.tenant_id!r}"
        raise BadRequestError(message, code="UNKNOWN_TENANT") from None
    return int(row["id"])


def lock_schedule(conn: Connection, pipeline: str, key: str) -> Row | None:
    """The schedule of a key, held until the transaction ends."""
    return conn.execute(load_sql("ledger/lock_schedule"), {"pipeline": pipeline, "key": key}).fetchone()


def mark_schedule(
    conn: Connection,
    schedule_id: int,
    *,
    status: ScheduleStatus,
    interval_seconds: int | None,
    next_run_at: datetime | None,
    now: datetime,
) -> None:
    params = {
        "id": schedule_id,
        "status": status,
        "interval_seconds": interval_seconds,
        "next_run_at": next_run_at,
        "now": now,
    }
    conn.execute(load_sql("ledger/mark_schedule"), params)


def clear_failures(conn: Connection, schedule_id: int) -> None:
    conn.execute(load_sql("ledger/clear_failures"), {"id": schedule_id})


@dataclass(frozen=True)
class AuditEvent:
    tenant_id: str
    event_name: str
    level: Level
    actor: str
    occurred_at: datetime
    pipeline: str | None = None
    key: str | None = None
    run_id: UUID | None = None
    job_id: UUID | None = None
    correlation_id: str | None = None
    fields: Mapping[str, Any] | None = None


def append_audit_event(conn: Connection, event: AuditEvent) -> None:
    params = {**vars(event), "fields": Jsonb(dict(event.fields or {}))}
    conn.execute(load_sql("ledger/append_audit_event"), params)
