"""The lives of a job: every way through the tables of the design, the ways that are barred, and what the dead leave."""

from datetime import timedelta

import pytest

from db import jobs
from db.clock import Clock
from db.engine import transaction
from db.enums import JobStatus, RunStatus
from db.errors import BadRequestError, FeedmillError
from db.jobs import Ending
from tasks import ledger, policy
from tasks.ledger import Lost, Policies
from tests.builders import NOON, feed, insert, run
from tests.toy import BadToyError, ToyError, Toys, after, end_well

STATES = ["queued", "running", "waiting", "failed", "dead_letter", "success", "skipped_timeout", "canceled"]
MINUTE = timedelta(minutes=1)


@pytest.fixture
def toys(conn):
    return Toys(conn)


@pytest.fixture
def evidence(conn):
    return Toys(conn, policy.EVIDENCE)


@pytest.fixture
def connectors(conn):
    return Toys(conn, policy.CONNECTORS)


@pytest.fixture
def news(conn):
    return Toys(conn, policy.NEWS)


def state(job):
    return job["status"], job["attempt"]


@pytest.mark.spec("000 7", "000 1", "000 2")
def test_a_job_is_made_claimed_and_done(evidence):
    key = evidence.key()
    evidence.enqueue(key)
    assert state(evidence.only_job(key)) == ("queued", 0)
    with evidence.running(key, after(1)) as started:
        job = evidence.only_job(key)
        assert (state(job), job["started_at"], job["finished_at"]) == (("running", 1), after(1), None)
        assert (job["run_id"], job["worker_instance"] is None) == (started.id, False)
        end_well(started)
    assert state(evidence.only_job(key)) == ("success", 1)
    assert evidence.only_job(key)["finished_at"] == after(1)


@pytest.mark.spec("000 7", "000 A4")
def test_a_failed_attempt_waits_and_is_queued_again_until_attempts_are_used_up(evidence):
    key, now = evidence.key(), NOON
    evidence.enqueue(key)
    for attempt, wait in ((1, 60), (2, 120)):
        evidence.fail(key, now)
        job = evidence.only_job(key)
        assert (state(job), job["error_code"]) == (("failed", attempt), "TOY_BROKE")
        assert job["next_retry_at"] == now + timedelta(seconds=wait)
        now = job["next_retry_at"]
        assert ledger.retry_due(evidence.conn, now=now) == 1
        assert state(evidence.only_job(key)) == ("queued", attempt)
    evidence.fail(key, now)
    job = evidence.only_job(key)
    assert (state(job), job["next_retry_at"], job["finished_at"]) == (("failed", 3), None, now)
    assert evidence.schedule(key)["consecutive_failures"] == 1
    assert [len(evidence.events(key, name)) for name in ("job.started", "job.failed", "job.retry")] == [3, 3, 2]


@pytest.mark.spec("000 7", "000 A3")
def test_a_lost_job_is_queued_again_until_attempts_are_used_up(evidence):
    key = evidence.key()
    for attempt, then in ((1, "queued"), (2, "queued"), (3, "failed")):
        evidence.crash(key, after(attempt))
        assert state(evidence.only_job(key)) == ("running", attempt)
        assert evidence.reap(after(attempt)) == 1
        assert state(evidence.only_job(key)) == (then, attempt)


@pytest.mark.spec("003 lifecycle", "003 retry", "003 audit events")
def test_a_connector_retries_five_times_and_becomes_a_dead_letter(connectors):
    key, now = connectors.key(), NOON
    connectors.enqueue(key)
    for attempt in range(1, 6):
        connectors.fail(key, now)
        job = connectors.only_job(key)
        assert state(job) == ("failed", attempt)
        whole = timedelta(seconds=60 * 2 ** (attempt - 1))
        assert 0.75 * whole <= job["next_retry_at"] - now <= 1.25 * whole
        now = job["next_retry_at"]
        assert ledger.retry_due(connectors.conn, now=now) == 1
    connectors.fail(key, now)
    job = connectors.only_job(key)
    assert (state(job), job["finished_at"]) == (("dead_letter", 6), now)
    [event] = connectors.events(key, "job.dead_lettered")
    assert (event["level"], event["fields"]["retry_count"]) == ("ERROR", 6)
    assert len(connectors.events(key, "job.retry")) == 5


@pytest.mark.spec("003 lifecycle", "003 retry")
def test_a_connector_that_cannot_succeed_becomes_a_dead_letter_at_once(connectors):
    key = connectors.key()
    connectors.enqueue(key)
    connectors.fail(key, error=BadToyError)
    assert state(connectors.only_job(key)) == ("dead_letter", 1)
    assert connectors.events(key, "job.retry") == []


@pytest.mark.spec("003 lifecycle", "003 audit events", "001 11")
def test_a_connector_succeeds_after_a_retry(connectors):
    key = connectors.key()
    connectors.enqueue(key)
    connectors.fail(key)
    ledger.retry_due(connectors.conn, now=after(1))
    with connectors.running(key, after(1)) as second:
        second.clock = Clock(after(2))
        end_well(second)
    assert state(connectors.only_job(key)) == ("success", 2)
    names = ["job.queued", "job.started", "job.failed", "job.retry", "job.started", "job.completed"]
    events = connectors.events(key)
    assert [event["event_name"] for event in events] == names
    assert events[-1]["fields"]["duration_seconds"] == 3600
    assert {event["job_id"] for event in events} == {connectors.only_job(key)["id"]}


@pytest.mark.spec("003 isolation")
def test_a_job_that_waits_for_its_retry_keeps_its_place(connectors):
    key = connectors.key(next_run_at=after(1))
    connectors.enqueue(key)
    connectors.fail(key, after(0.999))
    assert ledger.claim_due(connectors.conn, now=after(1)) == 0
    ledger.request(connectors.conn, key, by="ann", now=after(1))
    assert ledger.enqueue_requests(connectors.conn, now=after(1)) == 0
    assert state(connectors.only_job(key)) == ("failed", 1)


@pytest.mark.spec("001 6")
def test_a_slot_is_claimed_executed_and_closed(news):
    key = news.key()
    assert ledger.claim_due(news.conn, now=NOON) == 1
    news.succeed(key)
    assert ledger.claim_due(news.conn, now=after(1)) == 1
    news.fail(key, after(1))
    rows = news.conn.execute("SELECT * FROM job_runs ORDER BY scheduled_for").fetchall()
    assert [(row["scheduled_for"], row["status"], row["finished_at"]) for row in rows] == [
        (NOON, "success", NOON), (after(1), "failed", after(1)),
    ]  # fmt: skip
    assert [row["error_message"] for row in rows] == [None, "It broke."]
    assert all(row["worker_instance"] for row in rows)


@pytest.mark.spec("001 6", "001 7")
def test_a_lost_slot_is_skipped_by_a_tick_and_the_next_one_is_claimed(news):
    key = news.key()
    ledger.claim_due(news.conn, now=NOON)
    news.crash(key)
    assert news.reap(after(1)) == 1
    assert ledger.claim_due(news.conn, now=after(1)) == 1
    [lost, new] = news.jobs(key)
    assert (lost["status"], lost["finished_at"], lost["error_code"]) == ("skipped_timeout", after(1), "WORKER_LOST")
    assert (new["status"], new["slot"]) == ("queued", after(1))
    assert news.schedule(key)["consecutive_failures"] == 0


@pytest.mark.spec("001 7.1")
def test_a_lost_slot_found_at_start_up_has_failed(news):
    key = news.key()
    ledger.claim_due(news.conn, now=NOON)
    news.crash(key)
    assert news.reap(after(0.1), error_code=ledger.STARTUP_RECOVERY, at_startup=True) == 1
    job = news.only_job(key)
    assert (job["status"], job["error_code"], job["finished_at"]) == ("failed", "worker_startup_recovery", after(0.1))
    [event] = news.events(key, "job.failed")
    assert event["fields"]["error_code"] == "worker_startup_recovery"


@pytest.mark.spec("001 7.1")
def test_start_up_queues_again_what_has_attempts_left(toys):
    key = toys.key()
    toys.crash(key)
    assert toys.reap(after(1), error_code=ledger.STARTUP_RECOVERY, at_startup=True) == 1
    assert state(toys.only_job(key)) == ("queued", 1)
    assert toys.only_job(key)["error_code"] == toys.runs(key)[0]["error_code"] == "worker_startup_recovery"


def cancel(toys, job):
    return ledger.cancel(toys.conn, jobs.key_of(job), reason=FeedmillError(), actor="ann", now=NOON)


def close(toys, job, status):
    return jobs.close_job(toys.conn, job["id"], Ending(RunStatus.COMPLETED, status), now=NOON)


def declare_lost(toys, job):
    return ledger.close_the_dead(toys.conn, jobs.key_of(job), policy.CATALOGUE, now=NOON, lost=Lost())


OPERATIONS = {
    "start": (lambda toys, job: toys.start(job), {"queued", "waiting"}),
    "cancel": (cancel, {"queued", "waiting"}),
    "succeed": (lambda toys, job: close(toys, job, JobStatus.SUCCESS), {"running"}),
    "fail": (lambda toys, job: close(toys, job, JobStatus.FAILED), {"running"}),
    "retry": (lambda toys, _: ledger.retry_due(toys.conn, now=after(2)), {"waiting"}),
    "submit": (lambda toys, _: jobs.mark_submissions(toys.conn, now=NOON, limit=9), {"queued"}),
    "take back": (
        lambda toys, job: jobs.mark_unsubmitted(toys.conn, job["id"], submission=0, now=after(1)),
        {"queued"},
    ),
    "declare lost": (declare_lost, {"running"}),
}


@pytest.mark.spec("000 7", "003 lifecycle")
@pytest.mark.parametrize("status", STATES)
@pytest.mark.parametrize("operation", OPERATIONS)
def test_a_job_moves_only_from_where_it_may(any_conn, operation, status):
    toys = Toys(any_conn)
    key = toys.key()
    before = toys.job(key, status)
    act, allowed = OPERATIONS[operation]
    assert bool(act(toys, before)) == (status in allowed)
    assert (toys.only_job(key) != before) == (status in allowed)
    assert (toys.events(key) == []) or status in allowed


@pytest.mark.spec("000 7", "003 lifecycle")
@pytest.mark.parametrize("status", sorted(set(STATES) - {"queued", "waiting", "running"}))
def test_a_run_cannot_start_a_job_that_has_ended(toys, status):
    key = toys.key()
    job = toys.job(key, status)
    with pytest.raises(BadRequestError) as refusal, toys.running(key, job_id=job["id"]):
        pytest.fail("it ran")
    assert refusal.value.code == "JOB_NOT_WAITING"
    assert (toys.only_job(key), toys.runs(key)) == (job, [])


def test_a_run_cannot_start_the_job_of_another_key(toys):
    bear, duck = toys.key("bear"), toys.key("duck")
    job = toys.job(duck)
    with pytest.raises(BadRequestError, match="not waiting"), toys.running(bear, job_id=job["id"]):
        pytest.fail("it ran")
    assert toys.only_job(duck) == job


def test_reap_queues_a_crashed_job_again_and_closes_its_record(toys):
    key = toys.key()
    ledger.claim_due(toys.conn, now=NOON)
    toys.crash(key)
    assert [toys.reap(after(1)) for _ in range(2)] == [1, 0]
    job, [record] = toys.only_job(key), toys.runs(key)
    assert (state(job), job["error_code"], job["submitted_at"]) == (("queued", 1), "WORKER_LOST", None)
    assert (record["status"], record["error_code"], record["finished_at"]) == ("failed", "WORKER_LOST", after(1))
    assert toys.schedule(key)["consecutive_failures"] == 0
    [event] = toys.events(key, "job.retry")
    assert (event["actor"], event["fields"]) == ("dispatcher", {"error_code": "WORKER_LOST", "retry_count": 1})
    toys.succeed(key, after(2))
    assert state(toys.only_job(key)) == ("success", 2)
    assert [one["status"] for one in toys.runs(key)] == ["failed", "completed"]


def test_reap_counts_the_third_crash_of_a_job_and_none_before(toys):
    key = toys.key()
    counted = []
    for attempt in (1, 2, 3):
        toys.crash(key, after(attempt))
        toys.reap(after(attempt))
        counted.append(toys.schedule(key)["consecutive_failures"])
    assert counted == [0, 0, 1]
    assert state(toys.only_job(key)) == ("failed", 3)
    assert {one["error_code"] for one in toys.runs(key)} == {"WORKER_LOST"}
    assert toys.schedule(key)["status"] == "ENABLED"


def test_reap_leaves_a_run_that_holds_its_lock_however_old(toys):
    key = toys.key()
    with toys.running(key, after(-24 * 365)) as slow:
        before = (toys.jobs(key), toys.runs(key))
        assert toys.reap(after(1)) == 0
        assert toys.reap(after(1), error_code=ledger.STARTUP_RECOVERY, at_startup=True) == 0
        assert (toys.jobs(key), toys.runs(key)) == before
        end_well(slow)


def test_reap_closes_a_record_whose_job_is_gone(toys):
    key = toys.key()
    toys.crash(key)
    toys.conn.execute("DELETE FROM ingestion_jobs")
    assert [toys.reap(after(1)) for _ in range(2)] == [1, 0]
    assert [(one["status"], one["error_code"]) for one in toys.runs(key)] == [("failed", "WORKER_LOST")]
    assert toys.schedule(key)["consecutive_failures"] == 0


def test_reap_leaves_a_documents_run_between_its_jobs(toys):
    insert(toys.conn, "schedules", pipeline="documents", key="archive", status="ENABLED")
    insert(toys.conn, "ingestion_runs", pipeline="documents", key="archive", status="running", started_at=NOON)
    assert toys.reap(after(1)) == 0


def test_reap_ends_the_first_loss_of_a_pipeline_it_does_not_know(toys):
    key = toys.key()
    toys.crash(key)
    assert ledger.reap(toys.conn, Policies(), now=after(1)) == 1
    assert state(toys.only_job(key)) == ("failed", 1)


def test_whoever_takes_the_lock_closes_the_dead_first(toys):
    key = toys.key()
    toys.crash(key)
    toys.succeed(key, after(1))
    assert state(toys.only_job(key)) == ("success", 2)
    assert [(one["status"], one["error_code"]) for one in toys.runs(key)] == [
        ("failed", "WORKER_LOST"), ("completed", None),
    ]  # fmt: skip


@pytest.mark.spec("002 11.1")
def test_three_failures_in_a_row_disable_a_key(toys):
    key = toys.key()
    seen = []
    for number in (1, 2, 3):
        toys.fail(key, after(number))
        row = toys.schedule(key)
        seen.append((row["status"], row["consecutive_failures"], row["next_run_at"]))
    assert seen == [("ENABLED", 1, NOON), ("ENABLED", 2, NOON), ("DISABLED", 3, None)]
    [event] = toys.events(key, "FEED_AUTO_DISABLED")
    assert event["level"] == "WARN"
    assert event["fields"] == {"consecutive_failures": 3, "last_error": "TOY_BROKE"}


@pytest.mark.spec("002 11.1")
def test_a_success_begins_the_count_anew(toys):
    key = toys.key()
    for number, act in enumerate([toys.fail, toys.fail, toys.succeed, toys.fail, toys.fail]):
        act(key, after(number))
    row = toys.schedule(key)
    assert (row["status"], row["consecutive_failures"], row["last_run_at"]) == ("ENABLED", 2, after(4))


@pytest.mark.spec("002 11.1")
def test_a_failure_with_a_retry_ahead_does_not_count(connectors):
    key = connectors.key()
    connectors.fail(key)
    assert connectors.schedule(key)["consecutive_failures"] == 0


def test_an_operators_cancel_does_not_count(toys):
    key = toys.key()
    toys.fail(key, error=KeyboardInterrupt)
    job, [record] = toys.only_job(key), toys.runs(key)
    assert (job["status"], record["status"], record["error_code"]) == ("canceled", "canceled", "CANCELED_BY_OPERATOR")
    assert toys.schedule(key)["consecutive_failures"] == 0
    assert len(toys.events(key, "job.canceled")) == 1


def test_a_third_failure_of_a_paused_key_leaves_it_paused(toys):
    key = toys.key(consecutive_failures=2)
    with pytest.raises(ToyError), toys.running(key):
        toys.conn.execute("UPDATE schedules SET status = 'PAUSED', next_run_at = NULL")
        raise ToyError
    row = toys.schedule(key)
    assert (row["status"], row["consecutive_failures"]) == ("PAUSED", 3)
    assert toys.events(key, "FEED_AUTO_DISABLED") == []


@pytest.mark.spec("002 11.1")
def test_disabling_cancels_what_waits(any_conn):
    toys = Toys(any_conn)
    key = toys.key(consecutive_failures=2)
    toys.enqueue(key)
    with transaction(toys.conn):
        ledger.count_failure(toys.conn, key, policy.CATALOGUE, now=after(1), actor="test", error_code="TOY_BROKE")
    job = toys.only_job(key)
    assert (toys.schedule(key)["status"], job["status"], job["error_code"]) == ("DISABLED", "canceled", "FEED_DISABLED")


def test_disabling_says_what_it_canceled(any_conn):
    toys = Toys(any_conn)
    key = toys.key(consecutive_failures=2)
    toys.enqueue(key)
    ledger.count_failure(toys.conn, key, policy.CATALOGUE, now=after(1), actor="test", error_code="TOY_BROKE")
    assert [event["job_id"] for event in toys.events(key, "job.canceled")] == [toys.only_job(key)["id"]]


def test_a_pipeline_without_a_limit_is_never_disabled(news):
    key = news.key()
    for number in range(5):
        news.fail(key, after(number))
    row = news.schedule(key)
    assert (row["status"], row["consecutive_failures"]) == ("ENABLED", 5)


@pytest.mark.spec("002 6.6")
@pytest.mark.parametrize(
    ("error", "job_status", "seen"),
    [
        pytest.param(None, "success", ("SUCCEEDED", None), id="done"),
        pytest.param("X", "failed", ("FAILED", "X"), id="failed"),
        pytest.param("CANCELED_BY_OPERATOR", "canceled", ("FAILED", "CANCELED_BY_OPERATOR"), id="stopped"),
    ],
)
def test_a_feeds_run_shows_only_running_succeeded_and_failed(any_conn, error, job_status, seen):
    status = {"success": "completed", "failed": "failed", "canceled": "canceled"}[job_status]
    row = run(any_conn, feed(any_conn), status=status, started_at=NOON, finished_at=NOON, error_code=error)
    assert (row["status"], row["error_code"]) == seen
