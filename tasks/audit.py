"""Audit events: written in the transaction of the change that they report, under a name that the list knows."""

from datetime import datetime
from uuid import UUID

from db import ledger
from db.engine import Connection
from db.jobs import Key
from tasks.events import level_of


def note(
    conn: Connection,
    key: Key,
    event_name: str,
    *,
    actor: str,
    at: datetime,
    run_id: UUID | None = None,
    job_id: UUID | None = None,
    correlation_id: str | None = None,
    **fields: object,
) -> None:
    """One event on a key, with its level from the list of events."""
    event = ledger.AuditEvent(
        tenant_id=key.tenant_id,
        event_name=event_name,
        level=level_of(event_name),
        actor=actor,
        occurred_at=at,
        pipeline=key.pipeline,
        key=key.key,
        run_id=run_id,
        job_id=job_id,
        correlation_id=correlation_id,
        fields=fields,
    )
    ledger.append_audit_event(conn, event)
