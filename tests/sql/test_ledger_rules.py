"""What the ledger's tables refuse, whoever writes to them."""

from datetime import timedelta

import psycopg
import pytest

from tests.builders import NOON, feed, insert, run

LATER = NOON + timedelta(hours=1)


@pytest.fixture
def key(any_conn):
    return {"key": insert(any_conn, "schedules", interval_seconds=3600)["key"]}


@pytest.mark.spec("001 5")
def test_one_claim_per_slot(any_conn, key):
    insert(any_conn, "ingestion_jobs", **key, status="success", finished_at=NOON)
    with pytest.raises(psycopg.errors.UniqueViolation, match="slot"):
        insert(any_conn, "ingestion_jobs", **key)


@pytest.mark.spec("003 isolation")
@pytest.mark.parametrize(
    "first",
    [
        pytest.param({"status": "queued"}, id="queued"),
        pytest.param({"status": "running", "started_at": NOON}, id="running"),
        pytest.param({"status": "failed", "next_retry_at": LATER}, id="waiting for its retry"),
    ],
)
def test_one_active_job_per_key(any_conn, key, first):
    insert(any_conn, "ingestion_jobs", **key, **first)
    with pytest.raises(psycopg.errors.UniqueViolation, match="one_active"):
        insert(any_conn, "ingestion_jobs", **key, slot=LATER)


@pytest.mark.spec("003 isolation")
@pytest.mark.parametrize("final", ["failed", "dead_letter", "success", "skipped_timeout", "canceled"])
def test_a_final_job_makes_room_for_the_next(any_conn, key, final):
    insert(any_conn, "ingestion_jobs", **key, status=final, finished_at=NOON)
    insert(any_conn, "ingestion_jobs", **key, slot=LATER)


@pytest.mark.spec("003 1")
def test_a_job_has_the_columns_of_the_design(any_conn, key):
    job = insert(any_conn, "ingestion_jobs", **key)
    needed = {
        "id",
        "tenant_id",
        "key",
        "external_account_id",
        "status",
        "attempt",
        "external_run_id",
        "correlation_id",
        "error_message",
        "error_code",
        "next_retry_at",
    }  # fmt: skip - names
    assert needed <= set(job)
    assert (job["status"], job["attempt"], job["submission"], job["parameters"]) == ("queued", 0, 0, {})


@pytest.mark.parametrize(
    "wrong",
    [
        pytest.param({"status": "lost"}, id="unknown status"),
        pytest.param({"status": "running"}, id="running without a start"),
        pytest.param({"status": "success"}, id="final without an end"),
        pytest.param({"status": "queued", "finished_at": NOON}, id="queued with an end"),
        pytest.param({"status": "queued", "next_retry_at": NOON}, id="a retry without a failure"),
        pytest.param({"attempt": -1}, id="negative attempt"),
        pytest.param({"trigger": "WHIM"}, id="unknown trigger"),
    ],
)
def test_jobs_refuse_a_state_that_cannot_be(any_conn, key, wrong):
    with pytest.raises(psycopg.errors.CheckViolation):
        insert(any_conn, "ingestion_jobs", **key, **wrong)


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE ingestion_jobs SET trigger = 'MANUAL'",
        "UPDATE ingestion_jobs SET slot = slot + interval '1 hour'",
    ],
)
def test_trigger_and_slot_of_a_job_are_set_once(any_conn, key, statement):
    insert(any_conn, "ingestion_jobs", **key)
    with pytest.raises(psycopg.errors.RestrictViolation, match="set once"):
        any_conn.execute(statement)


def test_trigger_of_a_run_is_set_once(any_conn, key):
    insert(any_conn, "ingestion_runs", **key)
    any_conn.execute("UPDATE ingestion_runs SET trigger = trigger, status = 'running', started_at = created_at")
    with pytest.raises(psycopg.errors.RestrictViolation, match="set once"):
        any_conn.execute("UPDATE ingestion_runs SET trigger = 'MANUAL'")


def test_a_job_needs_a_schedule_of_its_tenant(any_conn, key):
    insert(any_conn, "tenants", id="acme", name="Acme")
    with pytest.raises(psycopg.errors.ForeignKeyViolation):
        insert(any_conn, "ingestion_jobs", **key, tenant_id="acme")


def test_keys_are_unique_over_all_tenants(any_conn, key):
    insert(any_conn, "tenants", id="acme", name="Acme")
    with pytest.raises(psycopg.errors.UniqueViolation):
        insert(any_conn, "schedules", tenant_id="acme", **key)


def test_lock_ids_come_from_one_sequence_over_all_pipelines(any_conn):
    lock_ids = [insert(any_conn, "schedules", pipeline=name, key="same")["lock_id"] for name in ("catalogue", "news")]
    assert len(set(lock_ids)) == 2


@pytest.mark.parametrize(
    "wrong",
    [
        pytest.param({"status": "PAUSED", "interval_seconds": 3600, "next_run_at": NOON}, id="paused with a next run"),
        pytest.param({"status": "DISABLED", "interval_seconds": 3600, "next_run_at": NOON}, id="disabled with one"),
        pytest.param({"status": "ENABLED", "next_run_at": NOON}, id="a next run without an interval"),
        pytest.param({"interval_seconds": 0}, id="an interval of nothing"),
        pytest.param({"interval_seconds": 60, "minimum_interval_seconds": 3600}, id="below the plan's minimum"),
        pytest.param({"key": "Upper Case"}, id="a key with capitals and a space"),
    ],
)
def test_schedules_refuse_a_state_that_cannot_be(any_conn, wrong):
    with pytest.raises(psycopg.errors.CheckViolation):
        insert(any_conn, "schedules", **wrong)


@pytest.mark.spec("004 4")
@pytest.mark.parametrize("status", ["pending", "running", "completed", "failed", "canceled"])
@pytest.mark.parametrize("stage", ["discovery", "documents", "ocr", "summary"])
def test_runs_take_every_state_and_stage_of_the_contract(any_conn, key, status, stage):
    finished = NOON if status in {"completed", "failed", "canceled"} else None
    insert(
        any_conn,
        "ingestion_runs",
        **key,
        status=status,
        active_stage=stage,
        started_at=NOON,
        finished_at=finished,
        error_code="X" if status == "failed" else None,
    )  # fmt: skip - one call


@pytest.mark.spec("004 4")
@pytest.mark.parametrize(
    "wrong",
    [
        pytest.param({"status": "queued"}, id="a state of jobs"),
        pytest.param({"active_stage": "cleanup"}, id="unknown stage"),
        pytest.param({"status": "completed"}, id="completed without an end"),
        pytest.param({"status": "running"}, id="running without a start"),
        pytest.param({"status": "failed", "finished_at": NOON}, id="failed without a code"),
    ],
)
def test_runs_refuse_a_state_that_cannot_be(any_conn, key, wrong):
    with pytest.raises(psycopg.errors.CheckViolation):
        insert(any_conn, "ingestion_runs", **key, **wrong)


def test_one_catalogue_run_of_a_key_is_running(any_conn):
    one = feed(any_conn)
    run(any_conn, one, status="running", started_at=NOON)
    with pytest.raises(psycopg.errors.UniqueViolation, match="one_running"):
        run(any_conn, one, status="running", started_at=LATER)


@pytest.mark.spec("004 5")
def test_items_are_upserted_on_run_and_item_key(any_conn, key):
    made = insert(any_conn, "ingestion_runs", **key)
    insert(any_conn, "ingestion_items", run_id=made["id"], item_key="source_url:1")
    with pytest.raises(psycopg.errors.UniqueViolation), any_conn.transaction():
        insert(any_conn, "ingestion_items", run_id=made["id"], item_key="source_url:1")
    any_conn.execute("UPDATE ingestion_items SET status = 'completed'")
    with pytest.raises(psycopg.errors.RestrictViolation, match="set once"):
        any_conn.execute("UPDATE ingestion_items SET item_key = 'source_url:2'")


@pytest.mark.spec("004 5")
@pytest.mark.parametrize("wrong", [{"stage": "summary"}, {"item_type": "page"}, {"status": "lost"}], ids=str)
def test_items_refuse_an_unknown_word(any_conn, key, wrong):
    made = insert(any_conn, "ingestion_runs", **key)
    with pytest.raises(psycopg.errors.CheckViolation):
        insert(any_conn, "ingestion_items", run_id=made["id"], item_key="source_url:1", **wrong)


@pytest.mark.spec("001 5")
def test_job_runs_shows_started_jobs_in_the_words_of_the_design(any_conn, key):
    for hour, status in enumerate(["success", "failed", "dead_letter", "skipped_timeout", "canceled"]):
        insert(
            any_conn,
            "ingestion_jobs",
            **key,
            slot=NOON + timedelta(hours=hour),
            status=status,
            started_at=NOON,
            finished_at=NOON,
        )  # fmt: skip - one call
    insert(any_conn, "ingestion_jobs", **key, slot=NOON - timedelta(hours=1))
    rows = any_conn.execute("SELECT job_name, status FROM job_runs ORDER BY scheduled_for").fetchall()
    assert [row["status"] for row in rows] == ["success", "failed", "failed", "skipped_timeout", "failed"]
    assert {row["job_name"] for row in rows} == {key["key"]}
