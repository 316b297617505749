"""Every event of the design documents by its name: its level and the fields that it carries. Names stay."""

from collections.abc import Mapping
from dataclasses import dataclass

from db.enums import Level


@dataclass(frozen=True)
class Event:
    level: Level
    fields: tuple[str, ...]


EVENTS: Mapping[str, Event] = {
    "SCHEDULER_TICK": Event(Level.DEBUG, ("eligible_feeds", "tick_duration_ms")),
    "FEED_ENQUEUED": Event(Level.INFO, ("feed_id", "next_run_at", "trigger")),
    "FEED_SKIPPED_NOT_DUE": Event(Level.DEBUG, ("feed_id", "next_run_at", "now")),
    "FEED_SKIPPED_STATUS": Event(Level.DEBUG, ("feed_id", "status")),
    "MANUAL_RUN_PENDING_SET": Event(Level.WARN, ("feed_id", "active_run_id")),
    "DOWNLOAD_START": Event(Level.INFO, ("host", "port", "path", "transport")),
    "FTP_CONNECTED": Event(Level.DEBUG, ("host", "connection_time_ms")),
    "FILE_STAT": Event(Level.DEBUG, ("remote_mtime", "remote_size", "last_known_mtime", "last_known_size")),
    "DOWNLOAD_SKIPPED_UNCHANGED": Event(Level.INFO, ("reason", "hash")),
    "DOWNLOAD_PROGRESS": Event(Level.DEBUG, ("bytes_downloaded", "total_bytes", "percent_complete")),
    "DOWNLOAD_COMPLETE": Event(Level.INFO, ("bytes", "duration_ms", "compression_type")),
    "DOWNLOAD_RETRY": Event(Level.WARN, ("attempt", "max_attempts", "error", "retry_in_ms")),
    "DOWNLOAD_FAILED": Event(Level.ERROR, ("error", "attempts", "will_retry")),
    "PARSE_START": Event(Level.INFO, ("format", "encoding", "expected_columns")),
    "PARSE_HEADERS": Event(Level.DEBUG, ("headers", "mapped_columns")),
    "PARSE_PROGRESS": Event(Level.DEBUG, ("rows_read", "rows_parsed", "rows_skipped", "percent_complete")),
    "PARSE_ROW_SKIPPED": Event(Level.WARN, ("row_number", "reason", "raw_row")),
    "PARSE_COLUMN_MISSING": Event(Level.WARN, ("row_number", "column_name", "required")),
    "PARSE_BATCH_COMPLETE": Event(Level.DEBUG, ("batch_number", "rows_in_batch", "duration_ms")),
    "PARSE_COMPLETE": Event(Level.INFO, ("total_rows", "parsed_rows", "skipped_rows", "duration_ms")),
    "IDENTITY_RESOLVED": Event(Level.DEBUG, ("row_number", "identity_type", "identity_value", "alternates")),
    "IDENTITY_UPGRADE_DETECTED": Event(Level.INFO, ("row_number", "old_type", "new_type", "old_value", "new_value")),
    "URL_HASH_FALLBACK": Event(Level.WARN, ("row_number", "url", "hash")),
    "URL_HASH_IDENTITY_CREATED": Event(Level.DEBUG, ("source_product_id", "url", "hash")),
    "PRICE_SIGNATURE": Event(Level.DEBUG, ("row_number", "amount", "currency", "promo", "changed")),
    "PRICE_HEARTBEAT_DUE": Event(Level.DEBUG, ("row_number", "source_product_id", "last_price_at", "hours_since")),
    "UPSERT_BATCH_START": Event(Level.INFO, ("batch_number", "batch_size", "total_batches")),
    "PRODUCT_CREATED": Event(Level.DEBUG, ("source_product_id", "identity_type", "identity_value")),
    "PRODUCT_UPDATED": Event(Level.DEBUG, ("source_product_id", "fields_changed")),
    "PRICE_WRITTEN": Event(Level.DEBUG, ("source_product_id", "price_id", "amount", "reason")),
    "PRESENCE_UPDATED": Event(Level.DEBUG, ("source_product_id", "last_seen_at")),
    "SEEN_STAGED": Event(Level.DEBUG, ("source_product_id", "run_id")),
    "DUPLICATE_ROW_SAME_IDENTITY": Event(Level.WARN, ("row_number", "identity_type", "identity_value", "previous_row")),
    "UPSERT_BATCH_COMPLETE": Event(Level.INFO, ("batch_number", "products_upserted", "prices_written", "duration_ms")),
    "UPSERT_BATCH_FAILED": Event(Level.ERROR, ("batch_number", "error", "rolled_back")),
    "CIRCUIT_BREAKER_START": Event(Level.INFO, ("t0", "expiry_hours")),
    "CIRCUIT_BREAKER_COUNTS": Event(
        Level.DEBUG, ("active_count_before", "seen_success_count", "would_expire_count", "expire_percent")
    ),
    "CIRCUIT_BREAKER_NEGATIVE_EXPIRE_COUNT": Event(
        Level.WARN, ("active_count_before", "seen_success_count", "raw_expire_count")
    ),
    "CIRCUIT_BREAKER_PASSED": Event(
        Level.INFO, ("would_expire_count", "expire_percent", "threshold_percent", "threshold_absolute")
    ),
    "CIRCUIT_BREAKER_TRIPPED": Event(
        Level.WARN, ("would_expire_count", "expire_percent", "threshold_percent", "threshold_absolute", "reason")
    ),
    "PROMOTE_START": Event(Level.INFO, ("products_to_promote",)),
    "PROMOTE_PROGRESS": Event(Level.DEBUG, ("promoted", "total", "percent_complete")),
    "PROMOTE_COMPLETE": Event(Level.INFO, ("promote_rows_updated", "products_expired", "duration_ms")),
    "FEED_CREATED": Event(Level.INFO, ("feed_id", "source_id", "network", "created_by")),
    "FEED_UPDATED": Event(Level.INFO, ("feed_id", "changed_fields", "updated_by")),
    "EXPIRY_HOURS_CHANGED": Event(Level.WARN, ("feed_id", "old_value", "new_value", "changed_by")),
    "FEED_STATUS_CHANGED": Event(Level.INFO, ("feed_id", "old_status", "new_status", "changed_by", "reason")),
    "FEED_AUTO_DISABLED": Event(Level.WARN, ("feed_id", "consecutive_failures", "last_error")),
    "CREDENTIAL_CHANGED": Event(Level.INFO, ("feed_id", "field_name", "changed_by")),
    "INSECURE_TRANSPORT_SELECTED": Event(Level.WARN, ("feed_id", "transport", "selected_by")),
    "MANUAL_RUN_REQUESTED": Event(Level.INFO, ("feed_id", "requested_by")),
    "ACTIVATION_APPROVED": Event(Level.INFO, ("feed_id", "run_id", "approved_by", "products_promoted")),
    "ACTIVATION_APPROVAL_REJECTED": Event(Level.WARN, ("feed_id", "run_id", "reason")),
    "SKIPPED_LOCK_BUSY": Event(Level.DEBUG, ("feed_id", "feed_lock_id", "trigger")),
    "MANUAL_RUN_DEFERRED": Event(Level.DEBUG, ("feed_id", "feed_lock_id")),
    "ADVISORY_LOCK_ACQUIRED": Event(Level.DEBUG, ("feed_lock_id", "feed_id")),
    "RUN_START": Event(Level.INFO, ("run_id", "feed_id", "trigger", "worker_pid")),
    "RUN_COMPLETE": Event(Level.INFO, ("run_id", "status", "duration_ms", "summary")),
    "RUN_FAILED": Event(Level.INFO, ("run_id", "error", "stage", "is_partial", "duration_ms")),
    "ADVISORY_LOCK_RELEASED": Event(Level.DEBUG, ("feed_lock_id", "run_id")),
    "MANUAL_RUN_PENDING_CHECK": Event(Level.DEBUG, ("feed_id", "pending", "enqueuing_follow_up")),
    "DATA_QUALITY_URL_HASH_SPIKE": Event(
        Level.WARN, ("url_hash_fallback_count", "url_hash_fallback_percent", "products_upserted")
    ),
    "RETRY_SKIPPED": Event(Level.INFO, ("classification", "error_code", "hint")),
    "RETRY_LOCK_CONFLICT": Event(Level.WARN, ("run_id", "feed_id", "feed_lock_id")),
    "RUN_ID_MISMATCH": Event(Level.ERROR, ("expected_run_id", "found_run_id", "feed_id")),
    "STAT_INCOMPLETE": Event(Level.DEBUG, ("feed_id", "remote_stat")),
    "STAT_UNCHANGED": Event(Level.DEBUG, ("feed_id", "mtime", "size")),
    "CLEANUP_BATCH_COMPLETE": Event(Level.INFO, ("batch_deleted", "total_deleted", "cutoff_date")),
    "CLEANUP_COMPLETE": Event(Level.INFO, ("total_deleted", "cutoff_date")),
    "EXPIRY_STEP_FAILED": Event(Level.ERROR, ("feed_id", "error")),
    "FEED_EXPIRING": Event(Level.WARN, ("feed_id", "expires_at", "cause")),
    "job.queued": Event(Level.INFO, ("job_id", "tenant_id", "connector_id")),
    "job.started": Event(Level.INFO, ("job_id", "run_id")),
    "job.retry": Event(Level.WARN, ("job_id", "retry_count", "delay_seconds")),
    "job.failed": Event(Level.WARN, ("job_id", "error_message", "error_code")),
    "job.dead_lettered": Event(Level.ERROR, ("job_id", "retry_count", "error_message")),
    "job.completed": Event(Level.INFO, ("job_id", "records_synced", "duration_seconds")),
    "job.canceled": Event(Level.INFO, ("job_id", "error_code")),
}

# What a team may want to be woken for; each is emitted as a Prefect event as well.
ALERTABLE = frozenset(
    {
        "IDENTITY_UPGRADE_DETECTED",
        "CIRCUIT_BREAKER_TRIPPED",
        "DATA_QUALITY_URL_HASH_SPIKE",
        "EXPIRY_STEP_FAILED",
        "FEED_AUTO_DISABLED",
        "URL_HASH_FALLBACK",
        "INSECURE_TRANSPORT_SELECTED",
        "FEED_EXPIRING",
    }
)


def level_of(event_name: str) -> Level:
    """The level of an event; a name that is not listed here is a mistake."""
    return EVENTS[event_name].level
