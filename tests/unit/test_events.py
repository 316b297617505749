"""The list of events: all names of the design documents with their levels and fields, and no other is emitted."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from db.enums import Level
from tasks.events import ALERTABLE, EVENTS, level_of

TASKS = Path(__file__).parents[2] / "tasks"

# Level, name and fields, line by line as the tables of the design have them.
LOGS = {
    "002 17.3": """
        DEBUG SCHEDULER_TICK: eligible_feeds tick_duration_ms
        INFO FEED_ENQUEUED: feed_id next_run_at trigger
        DEBUG FEED_SKIPPED_NOT_DUE: feed_id next_run_at now
        DEBUG FEED_SKIPPED_STATUS: feed_id status
        WARN MANUAL_RUN_PENDING_SET: feed_id active_run_id
    """,
    "002 17.4": """
        INFO DOWNLOAD_START: host port path transport
        DEBUG FTP_CONNECTED: host connection_time_ms
        DEBUG FILE_STAT: remote_mtime remote_size last_known_mtime last_known_size
        INFO DOWNLOAD_SKIPPED_UNCHANGED: reason hash
        DEBUG DOWNLOAD_PROGRESS: bytes_downloaded total_bytes percent_complete
        INFO DOWNLOAD_COMPLETE: bytes duration_ms compression_type
        WARN DOWNLOAD_RETRY: attempt max_attempts error retry_in_ms
        ERROR DOWNLOAD_FAILED: error attempts will_retry
    """,
    "002 17.5": """
        INFO PARSE_START: format encoding expected_columns
        DEBUG PARSE_HEADERS: headers mapped_columns
        DEBUG PARSE_PROGRESS: rows_read rows_parsed rows_skipped percent_complete
        WARN PARSE_ROW_SKIPPED: row_number reason raw_row
        WARN PARSE_COLUMN_MISSING: row_number column_name required
        DEBUG PARSE_BATCH_COMPLETE: batch_number rows_in_batch duration_ms
        INFO PARSE_COMPLETE: total_rows parsed_rows skipped_rows duration_ms
    """,
    "002 17.6": """
        DEBUG IDENTITY_RESOLVED: row_number identity_type identity_value alternates
        INFO IDENTITY_UPGRADE_DETECTED: row_number old_type new_type old_value new_value
        WARN URL_HASH_FALLBACK: row_number url hash
        DEBUG URL_HASH_IDENTITY_CREATED: source_product_id url hash
        DEBUG PRICE_SIGNATURE: row_number amount currency promo changed
        DEBUG PRICE_HEARTBEAT_DUE: row_number source_product_id last_price_at hours_since
    """,
    "002 17.7": """
        INFO UPSERT_BATCH_START: batch_number batch_size total_batches
        DEBUG PRODUCT_CREATED: source_product_id identity_type identity_value
        DEBUG PRODUCT_UPDATED: source_product_id fields_changed
        DEBUG PRICE_WRITTEN: source_product_id price_id amount reason
        DEBUG PRESENCE_UPDATED: source_product_id last_seen_at
        DEBUG SEEN_STAGED: source_product_id run_id
        WARN DUPLICATE_ROW_SAME_IDENTITY: row_number identity_type identity_value previous_row
        INFO UPSERT_BATCH_COMPLETE: batch_number products_upserted prices_written duration_ms
        ERROR UPSERT_BATCH_FAILED: batch_number error rolled_back
    """,
    "002 17.8": """
        INFO CIRCUIT_BREAKER_START: t0 expiry_hours
        DEBUG CIRCUIT_BREAKER_COUNTS: active_count_before seen_success_count would_expire_count expire_percent
        WARN CIRCUIT_BREAKER_NEGATIVE_EXPIRE_COUNT: active_count_before seen_success_count raw_expire_count
        INFO CIRCUIT_BREAKER_PASSED: would_expire_count expire_percent threshold_percent threshold_absolute
        WARN CIRCUIT_BREAKER_TRIPPED: would_expire_count expire_percent threshold_percent threshold_absolute reason
        INFO PROMOTE_START: products_to_promote
        DEBUG PROMOTE_PROGRESS: promoted total percent_complete
        INFO PROMOTE_COMPLETE: promote_rows_updated products_expired duration_ms
    """,
    "002 17.9": """
        INFO FEED_CREATED: feed_id source_id network created_by
        INFO FEED_UPDATED: feed_id changed_fields updated_by
        WARN EXPIRY_HOURS_CHANGED: feed_id old_value new_value changed_by
        INFO FEED_STATUS_CHANGED: feed_id old_status new_status changed_by reason
        WARN FEED_AUTO_DISABLED: feed_id consecutive_failures last_error
        INFO CREDENTIAL_CHANGED: feed_id field_name changed_by
        WARN INSECURE_TRANSPORT_SELECTED: feed_id transport selected_by
        INFO MANUAL_RUN_REQUESTED: feed_id requested_by
        INFO ACTIVATION_APPROVED: feed_id run_id approved_by products_promoted
        WARN ACTIVATION_APPROVAL_REJECTED: feed_id run_id reason
    """,
    "002 17.10": """
        DEBUG SKIPPED_LOCK_BUSY: feed_id feed_lock_id trigger
        DEBUG MANUAL_RUN_DEFERRED: feed_id feed_lock_id
        DEBUG ADVISORY_LOCK_ACQUIRED: feed_lock_id feed_id
        INFO RUN_START: run_id feed_id trigger worker_pid
        INFO RUN_COMPLETE: run_id status duration_ms summary
        INFO RUN_FAILED: run_id error stage is_partial duration_ms
        DEBUG ADVISORY_LOCK_RELEASED: feed_lock_id run_id
        DEBUG MANUAL_RUN_PENDING_CHECK: feed_id pending enqueuing_follow_up
    """,
}  # fmt: skip
JOBS = """
    job.queued: job_id tenant_id connector_id
    job.started: job_id run_id
    job.retry: job_id retry_count delay_seconds
    job.failed: job_id error_message error_code
    job.dead_lettered: job_id retry_count error_message
    job.completed: job_id records_synced duration_seconds
"""
WAKES_SOMEBODY = (
    "IDENTITY_UPGRADE_DETECTED",
    "CIRCUIT_BREAKER_TRIPPED",
    "DATA_QUALITY_URL_HASH_SPIKE",
    "FEED_AUTO_DISABLED",
    "URL_HASH_FALLBACK",
    "INSECURE_TRANSPORT_SELECTED",
)


def lines(table: str) -> Iterator[tuple[list[str], tuple[str, ...]]]:
    for line in table.strip().splitlines():
        head, _, fields = line.partition(":")
        yield head.split(), tuple(fields.split())


@pytest.mark.parametrize(
    ("name", "level", "fields"),
    [
        pytest.param(name, level, fields, id=name, marks=pytest.mark.spec(section))
        for section, table in LOGS.items()
        for (level, name), fields in lines(table)
    ],
)
def test_events_list_every_log_event_of_the_design(name, level, fields):
    assert (EVENTS[name].level, EVENTS[name].fields) == (level, fields)
    assert level_of(name) is Level(level)


@pytest.mark.spec("003 audit events")
@pytest.mark.parametrize(("name", "fields"), [pytest.param(*head, fields, id=head[0]) for head, fields in lines(JOBS)])
def test_events_list_every_audit_event_of_jobs(name, fields):
    assert EVENTS[name].fields == fields


@pytest.mark.spec("002 17.13")
@pytest.mark.parametrize("name", WAKES_SOMEBODY)
def test_alertable_events_are_listed(name):
    assert name in ALERTABLE
    assert name in EVENTS


def test_alertable_names_are_events():
    assert ALERTABLE.issubset(EVENTS)


@pytest.mark.parametrize(
    ("name", "level"),
    [
        pytest.param("RETRY_SKIPPED", "INFO", id="a failure that is not tried again"),
        pytest.param("RETRY_LOCK_CONFLICT", "WARN", id="a retry that finds another run"),
        pytest.param("RUN_ID_MISMATCH", "ERROR", id="two running records"),
    ],
)
def test_events_list_what_the_design_mentions_in_passing(name, level):
    assert level_of(name) == level


def test_level_of_refuses_a_name_that_is_not_listed():
    with pytest.raises(KeyError):
        level_of("FEED_FELL_OVER")


def emitted(text: str) -> set[str]:
    """The names given to `note(...)`: as a literal, or by a variable of the same function."""
    names = set()
    for function in ast.walk(ast.parse(text)):
        if not isinstance(function, ast.FunctionDef):
            continue
        for call in (node for node in ast.walk(function) if isinstance(node, ast.Call)):
            if ast.unparse(call.func).rpartition(".")[2] == "note":
                names |= {word for argument in call.args for word in _words(argument, function)}
    return names


def _words(argument: ast.expr, function: ast.FunctionDef) -> Iterator[str]:
    """Strings in an argument; of a variable, the strings that it is given."""
    if isinstance(argument, ast.Constant) and isinstance(argument.value, str):
        yield argument.value
    elif isinstance(argument, ast.IfExp):
        yield from _words(argument.body, function)
        yield from _words(argument.orelse, function)
    elif isinstance(argument, ast.Name):
        for node in ast.walk(function):
            if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == argument.id:
                yield from _words(node.value, function)


MODULES = sorted(str(path.relative_to(TASKS)) for path in TASKS.rglob("*.py"))


@pytest.mark.parametrize("module", MODULES)
def test_only_listed_events_are_emitted(module):
    assert emitted((TASKS / module).read_text(encoding="utf-8")) <= set(EVENTS)


def test_the_kernel_is_seen_to_emit():
    """A scan that finds nothing would agree with anything."""
    found = emitted((TASKS / "ledger.py").read_text(encoding="utf-8"))
    assert {"job.queued", "job.retry", "job.failed", "SKIPPED_LOCK_BUSY", "MANUAL_RUN_REQUESTED"} <= found


@pytest.mark.parametrize(
    "line",
    [
        pytest.param('note(conn, key, "FEED_FELL_OVER", at=now)', id="a literal"),
        pytest.param('run.note("FEED_FELL_OVER", at=now)', id="of a run"),
        pytest.param('audit.note(conn, key, "job.queued" if ok else "FEED_FELL_OVER", at=now)', id="one of two"),
        pytest.param('name = "job.queued" if ok else "FEED_FELL_OVER"; note(conn, key, name, at=now)', id="a variable"),
    ],
)
def test_a_name_that_is_not_listed_is_found(line):
    assert "FEED_FELL_OVER" in emitted(f"def some(conn, key, now, ok):\n    {line}\n")
