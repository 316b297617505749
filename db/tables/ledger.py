"""The ledger: who may run when, what was asked for, what ran. It knows no pipeline by name but one index."""

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql as pg

from db.enums import (
    ItemStage,
    ItemStatus,
    ItemType,
    JobStatus,
    Level,
    Plan,
    Recovery,
    RunStatus,
    ScheduleStatus,
    Stage,
    Trigger,
)
from db.tables.base import flag, json, lock_ids, metadata, moment, serial, text, uuid, uuid_key, word

tenants = sa.Table(
    "tenants",
    metadata,
    sa.Column("id", sa.Text, primary_key=True),
    text("name", required=True),
    *word("plan", Plan, default=Plan.ENTERPRISE),
    moment("created_at", required=True),
    sa.CheckConstraint("id ~ '^[a-z0-9][a-z0-9_-]{0,62}$'", name="id_form"),
)

schedules = sa.Table(
    "schedules",
    metadata,
    serial(),
    sa.Column("tenant_id", sa.Text, sa.ForeignKey("tenants.id"), nullable=False),
    text("pipeline", required=True),
    text("key", required=True),
    *word("status", ScheduleStatus, default=ScheduleStatus.DRAFT),
    sa.Column("interval_seconds", sa.Integer, comment="null: runs on request only"),
    moment("next_run_at", comment="the next slot; a claim moves it on by whole intervals, so slots do not drift"),
    flag("is_coalesced", default=True, comment="a backlog of slots yields one run, that of the newest"),
    sa.Column("misfire_grace_seconds", sa.Integer, comment="a slot older than this is passed over; null: never"),
    sa.Column("minimum_interval_seconds", sa.Integer, comment="the plan's floor under interval_seconds; null: none"),
    sa.Column("lock_id", sa.BigInteger, lock_ids, nullable=False, unique=True, server_default=lock_ids.next_value()),
    moment("manual_requested_at", comment="the newest request for a run; whether it is still open is derived"),
    text("manual_requested_by"),
    sa.Column("consecutive_failures", sa.Integer, nullable=False, server_default="0"),
    moment("last_run_at", comment="when the last run ended, for display"),
    moment("created_at", required=True),
    moment("updated_at", required=True),
    sa.UniqueConstraint("pipeline", "key"),  # over all tenants: a key alone names a feed
    sa.UniqueConstraint("tenant_id", "pipeline", "key"),  # what jobs and runs refer to
    sa.CheckConstraint("pipeline ~ '^[a-z][a-z0-9_]{0,62}$'", name="pipeline_form"),
    sa.CheckConstraint("key ~ '^[a-z0-9][a-z0-9._-]{0,99}$'", name="key_form"),
    sa.CheckConstraint("interval_seconds > 0", name="interval_seconds_positive"),
    sa.CheckConstraint("misfire_grace_seconds >= 0", name="misfire_grace_seconds_counted"),
    sa.CheckConstraint("minimum_interval_seconds > 0", name="minimum_interval_seconds_positive"),
    sa.CheckConstraint("interval_seconds >= minimum_interval_seconds", name="interval_allowed"),
    sa.CheckConstraint("consecutive_failures >= 0", name="consecutive_failures_counted"),
    sa.CheckConstraint(
        "next_run_at IS NULL OR (interval_seconds IS NOT NULL AND status IN ('DRAFT', 'ENABLED'))",
        name="next_run_only_if_it_may_run",
    ),
)
sa.Index(
    "schedules_due",
    schedules.c.next_run_at,
    postgresql_where=sa.text("status = 'ENABLED' AND next_run_at IS NOT NULL"),
)
sa.Index(
    "schedules_requested",
    schedules.c.manual_requested_at,
    postgresql_where=sa.text("status = 'ENABLED' AND manual_requested_at IS NOT NULL"),
)

_KEY = ["tenant_id", "pipeline", "key"]
_SCHEDULE = [f"schedules.{column}" for column in _KEY]
ACTIVE_JOB = "status IN ('queued', 'running') OR (status = 'failed' AND next_retry_at IS NOT NULL)"

ingestion_jobs = sa.Table(
    "ingestion_jobs",
    metadata,
    uuid_key(),
    text("tenant_id", required=True),
    text("pipeline", required=True),
    text("key", required=True),
    moment("slot", required=True, comment="the moment it stands for; of a manual run the moment of its request"),
    *word("trigger", Trigger),
    *word("status", JobStatus, default=JobStatus.QUEUED),
    sa.Column("attempt", sa.Integer, nullable=False, server_default="0", comment="starts so far"),
    sa.Column("submission", sa.Integer, nullable=False, server_default="0", comment="flow runs asked for so far"),
    moment("submitted_at"),
    moment("next_retry_at", comment="set while a failed job waits for its retry"),
    uuid("flow_run_id"),
    uuid("run_id", sa.ForeignKey("ingestion_runs.id", ondelete="SET NULL", use_alter=True), comment="its newest run"),
    text("external_run_id"),
    text("external_account_id"),
    text("correlation_id"),
    text("worker_instance", comment="host and process of the newest start"),
    uuid("requeued_from_job_id", comment="the dead letter that it repeats"),
    text("error_code"),
    text("error_message"),
    *word("error_class", Recovery, required=False),
    json("parameters", default="{}"),
    json("result", comment="what the run reports, for example records_synced"),
    text("requested_by"),
    moment("created_at", required=True),
    moment("started_at"),
    moment("finished_at"),
    moment("updated_at", required=True),
    sa.ForeignKeyConstraint(_KEY, _SCHEDULE),
    sa.UniqueConstraint("tenant_id", "pipeline", "key", "slot"),  # one claim per slot
    sa.CheckConstraint("attempt >= 0", name="attempt_counted"),
    sa.CheckConstraint("submission >= 0", name="submission_counted"),
    sa.CheckConstraint("next_retry_at IS NULL OR status = 'failed'", name="retry_only_after_failure"),
    sa.CheckConstraint("status <> 'running' OR started_at IS NOT NULL", name="running_has_started"),
    sa.CheckConstraint(
        f"({ACTIVE_JOB}) = (finished_at IS NULL)",
        name="finished_when_final",
    ),
)
sa.Index(
    "ingestion_jobs_one_active",
    *(ingestion_jobs.c[column] for column in _KEY),
    unique=True,
    postgresql_where=sa.text(ACTIVE_JOB),
)
sa.Index("ingestion_jobs_open", ingestion_jobs.c.status, postgresql_where=sa.text("status IN ('queued', 'running')"))
sa.Index(
    "ingestion_jobs_retry_due", ingestion_jobs.c.next_retry_at, postgresql_where=sa.text("next_retry_at IS NOT NULL")
)
sa.Index("ingestion_jobs_run", ingestion_jobs.c.run_id)
sa.Index("ingestion_jobs_history", *(ingestion_jobs.c[column] for column in _KEY), ingestion_jobs.c.created_at)

ingestion_runs = sa.Table(
    "ingestion_runs",
    metadata,
    uuid_key(),
    text("tenant_id", required=True),
    text("pipeline", required=True),
    text("key", required=True),
    text("source_id", required=True, comment="what is read: of a catalogue run the id in sources"),
    uuid("job_id", sa.ForeignKey("ingestion_jobs.id", ondelete="SET NULL"), comment="the job that opened it"),
    *word("trigger", Trigger),
    *word("status", RunStatus, default=RunStatus.PENDING),
    *word("active_stage", Stage, default=Stage.DISCOVERY),
    text("worker_instance", comment="host and process"),
    text("correlation_id"),
    moment("created_at", required=True),
    moment("started_at"),
    moment("finished_at"),
    moment("updated_at", required=True),
    text("error_code"),
    text("error_message", comment="the first error"),
    text("last_error_message", comment="the last error"),
    *word("error_class", Recovery, required=False),
    json("stats_json", default="{}"),
    sa.ForeignKeyConstraint(_KEY, _SCHEDULE),
    sa.CheckConstraint("status <> 'running' OR started_at IS NOT NULL", name="running_has_started"),
    sa.CheckConstraint("(status IN ('pending', 'running')) = (finished_at IS NULL)", name="finished_when_final"),
    sa.CheckConstraint("status <> 'failed' OR error_code IS NOT NULL", name="failed_has_a_code"),
)
sa.Index("ingestion_runs_key_started", ingestion_runs.c.pipeline, ingestion_runs.c.key, ingestion_runs.c.started_at)
sa.Index(
    "ingestion_runs_key_trigger_started",
    *(ingestion_runs.c[column] for column in ("pipeline", "key", "trigger", "started_at")),
)
sa.Index(
    "ingestion_runs_key_status_started",
    *(ingestion_runs.c[column] for column in ("pipeline", "key", "status", "started_at")),
)
sa.Index("ingestion_runs_job", ingestion_runs.c.job_id)
sa.Index("ingestion_runs_open", ingestion_runs.c.status, postgresql_where=sa.text("status IN ('pending', 'running')"))
sa.Index("ingestion_runs_started", ingestion_runs.c.started_at)
sa.Index(
    "ingestion_runs_one_running",
    *(ingestion_runs.c[column] for column in _KEY),
    unique=True,
    # A documents run spans several jobs and stays open between them; a catalogue run is one process under one lock.
    postgresql_where=sa.text("status = 'running' AND pipeline = 'catalogue'"),
)

ingestion_items = sa.Table(
    "ingestion_items",
    metadata,
    serial(),
    sa.Column("run_id", pg.UUID(as_uuid=True), sa.ForeignKey("ingestion_runs.id", ondelete="CASCADE"), nullable=False),
    text("source_id", required=True),
    text("source_url_id"),
    text("document_id"),
    text("item_key", required=True, comment="source_url:ID, document:ID, ocr_job:ID, or the same with _url:SHA256"),
    text("item_label"),
    *word("stage", ItemStage),
    *word("item_type", ItemType),
    *word("status", ItemStatus),
    text("ingest_status"),
    text("ingest_reason"),
    uuid("job_id"),
    text("document_url"),
    text("filename"),
    text("file_checksum"),
    text("file_kind"),
    text("error_message", comment="the first error"),
    text("last_error_message", comment="the last error"),
    sa.Column("needs_review", sa.Boolean),
    text("review_reason"),
    json("context_json", default="{}"),
    json("payload_json"),
    moment("first_seen_at", required=True),
    moment("last_seen_at", required=True),
    moment("created_at", required=True),
    moment("updated_at", required=True),
    sa.UniqueConstraint("run_id", "item_key"),
)

audit_events = sa.Table(
    "audit_events",
    metadata,
    serial(),
    text("tenant_id", required=True),
    text("event_name", required=True, comment="a name of the design documents; never renamed"),
    *word("level", Level),
    text("actor", required=True),
    text("pipeline"),
    text("key"),
    uuid("run_id"),
    uuid("job_id"),
    text("correlation_id"),
    json("fields", default="{}"),
    moment("occurred_at", required=True),
    comment="Append-only. No foreign keys: an event outlives what it speaks of.",
)
sa.Index("audit_events_key", *(audit_events.c[column] for column in (*_KEY, "id")))
sa.Index("audit_events_run", audit_events.c.run_id, postgresql_where=sa.text("run_id IS NOT NULL"))

dispatcher_ticks = sa.Table(
    "dispatcher_ticks",
    metadata,
    sa.Column("id", sa.Integer, primary_key=True, autoincrement=False, comment="always 1: the newest tick"),
    moment("ticked_at", required=True),
    text("worker_instance", required=True),
    sa.CheckConstraint("id = 1", name="one_row"),
)
