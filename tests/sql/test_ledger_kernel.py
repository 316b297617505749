"""The kernel, function by function: what is queued, claimed, asked for, retried and canceled."""

from dataclasses import replace
from datetime import timedelta

import pytest

from db.clock import Clock
from db.enums import Trigger
from db.errors import BadRequestError, BusyError, RefusedError
from db.jobs import Key
from tasks import dispatch, exclusive, ledger
from tasks.run import Start
from tests.builders import NOON, insert
from tests.toy import ToyError, Toys, after, end_well, eventually, toy_pipeline

ACTIVE = ["queued", "running", "waiting"]
FINAL = ["success", "failed", "dead_letter", "skipped_timeout", "canceled"]
MINUTE = timedelta(minutes=1)


@pytest.fixture
def rolled(any_conn):
    """For functions that need no second connection: on every Postgres, and rolled back."""
    return Toys(any_conn)


@pytest.fixture
def toys(conn):
    """For runs, which bring a connection of their own."""
    return Toys(conn)


@pytest.mark.spec("000 2")
def test_enqueue_queues_a_job_and_says_so(rolled):
    key = rolled.key()
    queued = rolled.enqueue(key)
    job = rolled.only_job(key)
    assert (job["id"], job["status"], job["slot"], job["attempt"]) == (queued["id"], "queued", NOON, 0)
    [event] = rolled.events(key, "job.queued")
    assert (event["job_id"], event["correlation_id"]) == (job["id"], job["correlation_id"])
    assert event["occurred_at"] == NOON


@pytest.mark.spec("001 6", "003 isolation")
@pytest.mark.parametrize("status", ACTIVE)
def test_enqueue_adds_nothing_to_an_active_key(rolled, status):
    key = rolled.key()
    rolled.job(key, status)
    assert rolled.enqueue(key, after(1)) is None
    assert rolled.only_job(key)["slot"] == NOON
    assert rolled.events(key) == []


@pytest.mark.spec("001 6", "001 12")
@pytest.mark.parametrize("status", FINAL)
def test_enqueue_gives_a_slot_only_once(rolled, status):
    key = rolled.key()
    rolled.job(key, status)
    assert rolled.enqueue(key) is None
    assert rolled.enqueue(key, after(1)) is not None


@pytest.mark.spec("003 isolation")
def test_enqueue_keeps_keys_and_tenants_apart(rolled):
    bear, duck = rolled.key("bear"), rolled.key("duck")
    insert(rolled.conn, "tenants", id="acme", name="Acme")
    insert(rolled.conn, "schedules", tenant_id="acme", pipeline="toy", key="fox")
    assert [rolled.enqueue(key) is not None for key in (bear, duck, Key("acme", "toy", "fox"))] == [True] * 3


def test_enqueue_is_undone_with_the_transaction_around_it(rolled):
    key = rolled.key()
    with rolled.conn.transaction(force_rollback=True):
        assert rolled.enqueue(key) is not None
    assert (rolled.jobs(key), rolled.events(key)) == ([], [])


@pytest.mark.spec("002 5.3", "001 10")
def test_claim_due_queues_the_slot_and_moves_on(rolled):
    key = rolled.key()
    assert ledger.claim_due(rolled.conn, now=NOON) == 1
    job = rolled.only_job(key)
    assert (job["slot"], job["trigger"], job["status"]) == (NOON, "SCHEDULED", "queued")
    assert rolled.schedule(key)["next_run_at"] == after(1)
    assert [event["event_name"] for event in rolled.events(key)] == ["job.queued"]


@pytest.mark.spec("002 5.1")
@pytest.mark.parametrize(
    "columns",
    [
        pytest.param({"status": "DRAFT"}, id="a draft"),
        pytest.param({"status": "PAUSED", "next_run_at": None}, id="paused"),
        pytest.param({"status": "DISABLED", "next_run_at": None}, id="disabled"),
        pytest.param({"status": "REMOVED", "next_run_at": None}, id="removed"),
        pytest.param({"interval_seconds": None, "next_run_at": None}, id="enabled without an interval"),
        pytest.param({"next_run_at": NOON + timedelta(microseconds=1)}, id="not due yet"),
    ],
)
def test_claim_due_leaves_what_may_not_run(rolled, columns):
    key = rolled.key(**columns)
    before = rolled.schedule(key)
    assert ledger.claim_due(rolled.conn, now=NOON) == 0
    assert (rolled.jobs(key), rolled.schedule(key)) == ([], before)


@pytest.mark.spec("002 5.3", "001 9")
def test_claim_due_takes_one_slot_of_a_backlog_and_stays_on_the_grid(rolled):
    key = rolled.key()
    assert ledger.claim_due(rolled.conn, now=after(6.4)) == 1
    assert rolled.only_job(key)["slot"] == after(6)
    assert rolled.schedule(key)["next_run_at"] == after(7)


@pytest.mark.spec("001 9")
def test_claim_due_starts_an_uncoalesced_backlog_at_its_oldest_slot(rolled):
    """The others come while that one is active, so they are passed over like any."""
    key = rolled.key(is_coalesced=False)
    assert ledger.claim_due(rolled.conn, now=after(2.5)) == 1
    assert rolled.only_job(key)["slot"] == NOON
    assert [event["fields"]["slot"] for event in rolled.events(key, "SKIPPED_LOCK_BUSY")] == [
        str(after(1)), str(after(2)),
    ]  # fmt: skip
    assert rolled.schedule(key)["next_run_at"] == after(3)


@pytest.mark.spec("001 9")
@pytest.mark.parametrize(
    ("late", "claimed"),
    [pytest.param(300, 1, id="as old as the grace"), pytest.param(301, 0, id="a second older")],
)
def test_claim_due_passes_over_a_slot_older_than_its_grace(rolled, late, claimed):
    key = rolled.key(misfire_grace_seconds=300)
    assert ledger.claim_due(rolled.conn, now=NOON + timedelta(seconds=late)) == claimed
    assert len(rolled.jobs(key)) == claimed
    assert rolled.schedule(key)["next_run_at"] == after(1)
    assert rolled.events(key, "SKIPPED_LOCK_BUSY") == []


@pytest.mark.spec("001 3", "001 12")
def test_claim_due_claims_nothing_twice_when_the_clock_is_set_back(rolled):
    key = rolled.key()
    assert ledger.claim_due(rolled.conn, now=NOON) == 1
    rolled.conn.execute("UPDATE ingestion_jobs SET status = 'success', finished_at = created_at")
    assert [ledger.claim_due(rolled.conn, now=now) for now in (after(-1), after(-0.5), NOON, after(0.9))] == [0] * 4
    assert ledger.claim_due(rolled.conn, now=after(1)) == 1
    assert [job["slot"] for job in rolled.jobs(key)] == [NOON, after(1)]


@pytest.mark.spec("002 6.3")
@pytest.mark.parametrize("status", ACTIVE)
def test_claim_due_passes_over_the_slot_of_an_active_key(rolled, status):
    key = rolled.key(next_run_at=after(1))
    rolled.job(key, status)
    assert ledger.claim_due(rolled.conn, now=after(1)) == 0
    assert rolled.only_job(key)["slot"] == NOON
    assert rolled.schedule(key)["next_run_at"] == after(2)
    [event] = rolled.events(key)
    assert (event["event_name"], event["level"], event["fields"]["slot"]) == (
        "SKIPPED_LOCK_BUSY",
        "DEBUG",
        str(after(1)),
    )


def test_claim_due_goes_on_with_a_slot_that_was_queued_before(rolled):
    """Somebody moved the schedule back over a slot that ran: it is passed over, the next one comes."""
    key = rolled.key()
    rolled.job(key, "success")
    assert ledger.claim_due(rolled.conn, now=NOON) == 0
    assert ledger.claim_due(rolled.conn, now=after(1)) == 1


def test_claim_due_is_one_with_moving_the_schedule_on(rolled):
    key = rolled.key()
    with rolled.conn.transaction(force_rollback=True):
        assert ledger.claim_due(rolled.conn, now=NOON) == 1
    assert (rolled.schedule(key)["next_run_at"], rolled.jobs(key)) == (NOON, [])
    assert ledger.claim_due(rolled.conn, now=NOON) == 1


def test_claim_due_goes_beyond_one_batch(rolled, monkeypatch):
    monkeypatch.setattr(ledger, "CLAIM_BATCH", 3)
    for number in range(10):
        rolled.key(f"toy-{number}")
    assert ledger.claim_due(rolled.conn, now=NOON) == 10


@pytest.mark.spec("002 5.4", "002 6.5", "001 10")
def test_request_becomes_a_job_at_its_moment(rolled):
    key = rolled.key()
    before = rolled.schedule(key)["next_run_at"]
    assert ledger.request(rolled.conn, key, by="ann", now=after(-1)) == after(-1)
    assert ledger.enqueue_requests(rolled.conn, now=after(-0.5)) == 1
    job = rolled.only_job(key)
    assert (job["slot"], job["trigger"], job["requested_by"]) == (after(-1), "MANUAL", "ann")
    assert rolled.schedule(key)["next_run_at"] == before
    assert [event["event_name"] for event in rolled.events(key)] == ["MANUAL_RUN_REQUESTED", "job.queued"]


@pytest.mark.spec("002 6.5")
def test_request_twice_is_one_job(rolled):
    key = rolled.key()
    first, second = (ledger.request(rolled.conn, key, by="ann", now=NOON) for _ in range(2))
    assert first < second
    assert [ledger.enqueue_requests(rolled.conn, now=NOON) for _ in range(2)] == [1, 0]
    ledger.request(rolled.conn, key, by="bob", now=after(1))
    assert ledger.enqueue_requests(rolled.conn, now=after(1)) == 0
    assert rolled.only_job(key)["slot"] == second


def test_request_keeps_its_order_when_the_clock_is_set_back(rolled):
    key = rolled.key()
    first = ledger.request(rolled.conn, key, by="ann", now=NOON)
    assert ledger.request(rolled.conn, key, by="ann", now=after(-1)) > first


@pytest.mark.spec("002 6.4", "002 5.1")
@pytest.mark.parametrize("status", ["DRAFT", "PAUSED", "DISABLED", "REMOVED"])
def test_enqueue_requests_leaves_a_key_that_may_not_run(rolled, status):
    key = rolled.key(status=status, next_run_at=None)
    ledger.request(rolled.conn, key, by="ann", now=NOON)
    assert ledger.enqueue_requests(rolled.conn, now=NOON) == 0


@pytest.mark.parametrize("status", ACTIVE)
def test_enqueue_requests_waits_for_an_active_job(rolled, status):
    key = rolled.key()
    rolled.job(key, status, slot=after(-1))
    ledger.request(rolled.conn, key, by="ann", now=NOON)
    assert ledger.enqueue_requests(rolled.conn, now=NOON) == 0


def test_enqueue_requests_looks_at_one_key_if_told(rolled):
    bear, duck = rolled.key("bear"), rolled.key("duck")
    for key in (bear, duck):
        ledger.request(rolled.conn, key, by="ann", now=NOON)
    assert ledger.enqueue_requests(rolled.conn, now=NOON, key=duck) == 1
    assert (rolled.jobs(bear), len(rolled.jobs(duck))) == ([], 1)


@pytest.mark.parametrize(
    ("status", "asked", "trigger"),
    [
        pytest.param("completed", -1, None, id="before a run that succeeded"),
        pytest.param("completed", 0, None, id="as it started"),
        pytest.param("completed", 1, "MANUAL_PENDING", id="while it ran"),
        pytest.param("completed", 3, "MANUAL", id="after it"),
        pytest.param("failed", -1, None, id="before a run that failed"),
        pytest.param("failed", 1, None, id="while it ran, and it failed"),
        pytest.param("failed", 3, "MANUAL", id="after the failure"),
        pytest.param("canceled", 1, None, id="while it ran, and an operator stopped it"),
        pytest.param("canceled", 3, "MANUAL", id="after it was stopped"),
    ],
)
@pytest.mark.spec("002 6.4")
def test_enqueue_requests_derives_what_is_open_from_the_last_run(rolled, status, asked, trigger):
    """The run lasted from hour 0 to hour 2."""
    key = rolled.key()
    error = {"error_code": "X"} if status == "failed" else {}
    times = {"started_at": NOON, "finished_at": after(2)}
    insert(rolled.conn, "ingestion_runs", **vars(key), status=status, **times, **error)
    rolled.conn.execute("UPDATE schedules SET manual_requested_at = %s WHERE key = %s", [after(asked), key.key])
    ledger.enqueue_requests(rolled.conn, now=after(4))
    assert [(job["slot"], job["trigger"]) for job in rolled.jobs(key)] == ([(after(asked), trigger)] if trigger else [])


@pytest.mark.parametrize("end", ["succeed", "fail"])
def test_request_at_the_last_stamp_of_a_run_is_not_lost(toys, end):
    """So it is stamped with `--at`, and for as long as it takes a clock that was set back to catch up."""
    key = toys.key()
    getattr(toys, end)(key)
    ledger.request(toys.conn, key, by="ann", now=NOON)
    assert ledger.enqueue_requests(toys.conn, now=NOON) == 1


@pytest.mark.spec("002 6.2", "002 6.4", "002 6.5")
def test_request_during_a_successful_run_leads_to_exactly_one_more(toys):
    key = toys.key()
    with toys.running(key) as run:
        for minutes in (1, 2):
            ledger.request(toys.conn, key, by="ann", now=NOON + minutes * MINUTE)
        assert ledger.enqueue_requests(toys.conn, now=NOON + 3 * MINUTE) == 0
        run.clock = Clock(after(1))
        end_well(run)
    [_, follow_up] = toys.jobs(key)
    assert (follow_up["trigger"], follow_up["slot"]) == ("MANUAL_PENDING", NOON + 2 * MINUTE)
    assert ledger.enqueue_requests(toys.conn, now=after(1)) == 0
    toys.succeed(key, after(2))
    assert ledger.enqueue_requests(toys.conn, now=after(3)) == 0
    assert [run["trigger"] for run in toys.runs(key)] == ["MANUAL", "MANUAL_PENDING"]


@pytest.mark.spec("002 6.4")
def test_request_during_a_failing_run_leads_to_none(toys):
    key = toys.key()
    with pytest.raises(ToyError), toys.running(key) as run:
        ledger.request(toys.conn, key, by="ann", now=NOON + MINUTE)
        run.clock = Clock(after(1))
        raise ToyError
    assert ledger.enqueue_requests(toys.conn, now=after(2)) == 0
    ledger.request(toys.conn, key, by="ann", now=after(2))
    assert ledger.enqueue_requests(toys.conn, now=after(2)) == 1


def test_request_during_a_crash_is_honoured_by_the_next_attempt(toys):
    key = toys.key()
    toys.crash(key)
    ledger.request(toys.conn, key, by="ann", now=NOON + MINUTE)
    toys.reap(after(1))
    assert ledger.enqueue_requests(toys.conn, now=after(1)) == 0
    toys.succeed(key, after(1))
    assert ledger.enqueue_requests(toys.conn, now=after(2)) == 0
    assert len(toys.jobs(key)) == 1


@pytest.mark.spec("002 6.4")
def test_request_in_a_run_of_a_feed_that_is_paused_meanwhile_leads_to_none(toys):
    key = toys.key()
    with toys.running(key) as run:
        ledger.request(toys.conn, key, by="ann", now=NOON + MINUTE)
        toys.conn.execute("UPDATE schedules SET status = 'PAUSED', next_run_at = NULL")
        run.clock = Clock(after(1))
        end_well(run)
    assert [job["status"] for job in toys.jobs(key)] == ["success"]
    assert ledger.enqueue_requests(toys.conn, now=after(1)) == 0


def test_a_request_that_was_canceled_does_not_come_back(rolled):
    key = rolled.key()
    ledger.request(rolled.conn, key, by="ann", now=NOON)
    ledger.enqueue_requests(rolled.conn, now=NOON)
    ledger.cancel(rolled.conn, key, reason=RefusedError("paused"), actor="ann", now=NOON)
    assert ledger.enqueue_requests(rolled.conn, now=after(1)) == 0


@pytest.mark.spec("003 lifecycle")
def test_retry_due_queues_a_job_whose_wait_is_over(rolled):
    key = rolled.key()
    waiting = rolled.job(key, "waiting", attempt=2, submission=2, submitted_at=NOON)
    assert ledger.retry_due(rolled.conn, now=after(0.99)) == 0
    assert rolled.only_job(key) == waiting
    assert [ledger.retry_due(rolled.conn, now=after(1)) for _ in range(2)] == [1, 0]
    job = rolled.only_job(key)
    assert (job["status"], job["attempt"], job["next_retry_at"], job["submitted_at"]) == ("queued", 2, None, None)


@pytest.mark.parametrize("status", ["queued", "waiting"])
def test_cancel_ends_what_waits(rolled, status):
    key = rolled.key()
    rolled.job(key, status)
    reason = RefusedError("paused before it started", code="FEED_PAUSED")
    assert [ledger.cancel(rolled.conn, key, reason=reason, actor="ann", now=after(1)) for _ in range(2)] == [1, 0]
    job = rolled.only_job(key)
    assert (job["status"], job["error_code"], job["finished_at"]) == ("canceled", "FEED_PAUSED", after(1))
    [event] = rolled.events(key, "job.canceled")
    assert (event["actor"], event["job_id"], event["fields"]["error_code"]) == ("ann", job["id"], "FEED_PAUSED")


@pytest.mark.spec("002 6.1", "002 6.3")
def test_a_busy_lock_makes_no_record_and_leaves_the_job_as_it_was(toys, monkeypatch):
    monkeypatch.setattr("tasks.exclusive.LOCK_SECONDS", 0)
    key = toys.key()
    with toys.running(key) as run:
        before = toys.jobs(key)
        with pytest.raises(BusyError), toys.running(key):
            pytest.fail("two at once")
        assert (toys.jobs(key), len(toys.runs(key))) == (before, 1)
        end_well(run)


@pytest.mark.spec("002 6.2", "002 6.3")
def test_a_run_holds_its_lock_from_before_its_record_until_after_its_end(toys):
    key = toys.key()
    assert not toys.is_locked(key)
    with toys.running(key) as run:
        assert toys.is_locked(key)
        end_well(run)
        assert toys.runs(key)[0]["status"] == "completed"
        assert toys.is_locked(key)
    eventually(lambda: not toys.is_locked(key))


@pytest.mark.spec("002 6.4")
def test_a_run_adopts_the_job_that_waits_with_its_trigger(toys):
    key = toys.key()
    ledger.claim_due(toys.conn, now=NOON)
    toys.succeed(key, after(1), trigger=Trigger.MANUAL)
    assert (toys.only_job(key)["slot"], toys.runs(key)[0]["trigger"]) == (NOON, "SCHEDULED")


@pytest.mark.spec("002 6.4.1")
def test_a_run_that_cannot_be_recorded_leaves_its_job_as_it_was(toys):
    """Job, record and what the pipeline adds to it are one transaction, before the body begins."""

    def break_down(_):
        raise ToyError

    key = toys.key()
    toys.enqueue(key)
    before = toys.jobs(key)
    pipeline = replace(toy_pipeline(), on_start=break_down)
    with pytest.raises(ToyError), exclusive.exclusive_run(pipeline, key.key, Start(clock=Clock(NOON))):
        pytest.fail("it ran")
    assert (toys.jobs(key), toys.runs(key)) == (before, [])
    assert [event["event_name"] for event in toys.events(key)] == ["job.queued"]
    eventually(lambda: not toys.is_locked(key))


@pytest.mark.spec("002 6.4", "002 6.4.1")
def test_every_attempt_has_a_record_of_its_own_with_the_trigger_of_its_job(toys):
    key = toys.key()
    ledger.claim_due(toys.conn, now=NOON)
    toys.crash(key)
    toys.reap(after(1))
    toys.succeed(key, after(1), trigger=Trigger.MANUAL)
    assert [(run["trigger"], run["status"]) for run in toys.runs(key)] == [
        ("SCHEDULED", "failed"), ("SCHEDULED", "completed"),
    ]  # fmt: skip
    assert {run["job_id"] for run in toys.runs(key)} == {toys.only_job(key)["id"]}


@pytest.mark.spec("001 10")
def test_two_runs_at_one_moment_have_slots_of_their_own(toys):
    key = toys.key()
    toys.succeed(key)
    toys.succeed(key)
    assert [job["slot"] for job in toys.jobs(key)] == [NOON, NOON + timedelta(microseconds=1)]


def test_a_run_of_a_key_that_was_paused_is_refused_and_its_job_canceled(toys):
    key = toys.key()
    ledger.claim_due(toys.conn, now=NOON)
    toys.conn.execute("UPDATE schedules SET status = 'PAUSED', next_run_at = NULL")
    with pytest.raises(BadRequestError) as refusal, toys.running(key, job_id=toys.only_job(key)["id"]):
        pytest.fail("it ran")
    assert refusal.value.code == "FEED_NOT_ENABLED"
    assert (toys.only_job(key)["status"], toys.runs(key)) == ("canceled", [])


@pytest.mark.parametrize(
    ("slot", "ticked", "said"),
    [
        pytest.param(-6, None, "no dispatch has ever come", id="never a tick"),
        pytest.param(-6, -6, "no dispatch for 6 minutes", id="none for six minutes"),
        pytest.param(-6, -4, None, id="one four minutes ago"),
        pytest.param(-4, -6, None, id="nothing due for long"),
    ],
)
def test_warning_tells_of_a_dispatcher_that_does_not_come(rolled, slot, ticked, said):
    rolled.key(next_run_at=NOON + slot * MINUTE)
    if ticked is not None:
        dispatch.jobs.upsert_tick(rolled.conn, now=NOON + ticked * MINUTE, worker_instance="here:1")
    warning = dispatch.warning(rolled.conn, now=NOON)
    assert warning is None if said is None else said in warning
