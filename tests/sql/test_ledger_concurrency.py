"""Processes that race, die or lose their session, on real Postgres with connections of their own."""

import os
import signal
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

import pytest

from db import engine, runs
from db.clock import Clock
from db.errors import BadRequestError, BusyError, DatabaseError, FeedmillError
from tasks import dispatch, ledger, policy
from tasks.exclusive import LockLostError
from tasks.ledger import Policies
from tests.builders import NOON
from tests.fakes.pooler import pooled
from tests.fakes.submitter import Recorder
from tests.toy import HOUR, PIPELINE, ToyError, Toys, after, end_well, eventually

ROOT = Path(__file__).parents[2]
MINUTE = timedelta(minutes=1)
POLICIES = Policies({PIPELINE: policy.CATALOGUE})


@pytest.fixture
def toys(conn):
    return Toys(conn)


@pytest.fixture
def recorder():
    return Recorder()


def at_once(count, act):
    """What `count` threads return that begin together, each with a connection of its own."""
    barrier = threading.Barrier(count)

    def begin():
        with engine.connect() as conn:
            barrier.wait()
            return act(conn)

    with ThreadPoolExecutor(count) as threads:
        return [begun.result() for begun in [threads.submit(begin) for _ in range(count)]]


@contextmanager
def process(*words):
    """A program of tests/toy_worker.py, killed at the end if not before."""
    command = [sys.executable, "-m", "tests.toy_worker", *words]
    with subprocess.Popen(command, cwd=ROOT, env=os.environ, stdout=subprocess.PIPE, text=True) as started:
        try:
            yield started
        finally:
            started.kill()


def tick(toys, submitter, at):
    return dispatch.tick(toys.conn, submitter, POLICIES, clock=Clock(at))


@pytest.mark.spec("001 3", "001 6", "002 5.3", "000 A3")
def test_two_workers_and_three_dispatchers_start_a_slot_once(toys, recorder):
    key = toys.key()
    for hour in range(5):
        clock = Clock(after(hour))
        ticks = at_once(3, lambda conn, clock=clock: dispatch.tick(conn, recorder, POLICIES, clock=clock))
        assert sum(tick.claimed for tick in ticks) == sum(tick.submitted for tick in ticks) == 1
        handed = recorder.handed[-1]
        assert sorted(at_once(2, lambda _, at=clock.at, job=handed: started(toys, key, job, at))) == [False, True]
    assert [(job["slot"], job["status"], job["attempt"]) for job in toys.jobs(key)] == [
        (after(hour), "success", 1) for hour in range(5)
    ]  # fmt: skip
    assert len(toys.runs(key)) == len(recorder.handed) == 5


def started(toys, key, job, now):
    """Whether this worker was the one to run the job."""
    try:
        toys.succeed(key, now, job_id=job["id"], submission=job["submission"])
    except (BusyError, BadRequestError):
        return False
    return True


@pytest.mark.spec("001 12", "002 5.3")
def test_ten_thousand_schedules_due_at_once_are_claimed_once_each(toys):
    toys.conn.execute(
        "INSERT INTO schedules (tenant_id, pipeline, key, status, interval_seconds, next_run_at, created_at,"
        " updated_at) SELECT 'default', 'toy', 'toy-' || n, 'ENABLED', 3600, %(now)s, %(now)s, %(now)s"
        " FROM generate_series(1, 10000) n",
        {"now": NOON},
    )
    claimed = at_once(3, lambda conn: ledger.claim_due(conn, now=NOON))
    assert sum(claimed) == 10_000
    found = toys.conn.execute("SELECT count(*) AS jobs, count(DISTINCT key) AS keys FROM ingestion_jobs").fetchone()
    assert found == {"jobs": 10_000, "keys": 10_000}
    late = toys.conn.execute("SELECT FROM schedules WHERE next_run_at <> %s", [after(1)]).fetchall()
    assert late == []


def test_a_run_adopts_a_job_that_is_claimed_while_it_looks(toys, database):
    """It sees no job, then the claim is committed and its own job is one too many."""
    key = toys.key()
    toys.conn.execute(
        "DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET transaction_timeout = 5000', current_database()); END $$"
    )
    with engine.open_connection(database) as dispatcher, ThreadPoolExecutor(1) as threads:
        with dispatcher.transaction():
            ledger.claim_due(dispatcher, now=NOON)
            run = threads.submit(toys.succeed, key, after(1))
            waiting = "SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event = 'transactionid'"
            eventually(lambda: toys.conn.execute(waiting).fetchall())
        run.result()
    assert (toys.only_job(key)["slot"], toys.only_job(key)["status"]) == (NOON, "success")


def test_requests_are_queued_once_by_three_dispatchers(toys):
    keys = [toys.key(f"toy-{number}", next_run_at=None) for number in range(20)]
    for key in keys:
        ledger.request(toys.conn, key, by="ann", now=NOON)
    assert sum(at_once(3, lambda conn: ledger.enqueue_requests(conn, now=NOON))) == 20
    assert [len(toys.jobs(key)) for key in keys] == [1] * 20


def test_the_dead_are_reaped_once_by_three_dispatchers(toys):
    keys = [toys.key(f"toy-{number}") for number in range(20)]
    for key in keys:
        toys.job(key, "running", attempt=3)
    assert sum(at_once(3, lambda conn: ledger.reap(conn, POLICIES, now=after(1)))) == 20
    assert [toys.schedule(key)["consecutive_failures"] for key in keys] == [1] * 20


def test_reap_leaves_a_key_that_was_dead_and_runs_again(toys, database):
    """The reaper finds two dead keys and waits at the first; meanwhile a run of the second begins."""
    for name in ("bear", "duck"):
        toys.crash(toys.key(name))
    first, second = (ledger.key_of(row) for row in runs.select_lost_keys(toys.conn))
    with engine.open_connection(database) as other, ThreadPoolExecutor(1) as threads:
        with other.transaction():
            other.execute("SELECT FROM ingestion_runs WHERE key = %s FOR UPDATE", [first.key])
            reaped = threads.submit(at_once, 1, lambda conn: ledger.reap(conn, POLICIES, now=after(1)))
            eventually(lambda: toys.is_locked(first))
            alive = toys.running(second, after(1))
            run = alive.__enter__()
        assert reaped.result() == [1]
        assert [record["status"] for record in toys.runs(second)] == ["failed", "running"]
        end_well(run)
        alive.__exit__(None, None, None)
    assert toys.only_job(first)["status"] == "queued"


@pytest.mark.spec("000 A3", "001 7")
def test_a_killed_run_is_closed_by_one_tick_and_starts_again(toys, recorder):
    key = toys.key()
    ledger.claim_due(toys.conn, now=NOON)
    with process("hold", key.key) as worker:
        assert worker.stdout.readline() == "running\n"
        assert tick(toys, recorder, NOON + 20 * HOUR).reaped == 0
        worker.send_signal(signal.SIGKILL)
        eventually(lambda: not toys.is_locked(key))
    assert toys.only_job(key)["status"] == "running"
    done = tick(toys, recorder, NOON + MINUTE)
    assert (done.reaped, done.submitted) == (1, 1)
    assert [(run["status"], run["error_code"]) for run in toys.runs(key)] == [("failed", "WORKER_LOST")]
    [handed] = recorder.handed
    toys.succeed(key, NOON + 2 * MINUTE, job_id=handed["id"], submission=handed["submission"])
    job = toys.only_job(key)
    assert (job["status"], job["attempt"], job["slot"]) == ("success", 2, NOON)
    assert toys.schedule(key)["consecutive_failures"] == 0


def test_a_dispatcher_killed_between_claim_and_submit_loses_nothing(toys, recorder):
    """The claim waits for its answer for a minute; then it is handed out again, once."""
    key = toys.key()
    with process("dispatch_and_die") as dispatcher:
        assert dispatcher.wait() == -signal.SIGKILL
    job = toys.only_job(key)
    assert (job["status"], job["submission"], job["flow_run_id"]) == ("queued", 1, None)
    ticks = [tick(toys, recorder, NOON + seconds * MINUTE / 60) for seconds in (1, 59, 60, 61, 300)]
    assert [done.submitted for done in ticks] == [0, 0, 1, 0, 0]
    [handed] = recorder.handed
    assert (handed["id"], handed["submission"]) == (job["id"], 2)
    toys.succeed(key, after(0.5), job_id=job["id"], submission=2)
    assert len(toys.runs(key)) == len(toys.jobs(key)) == 1


def test_a_claim_that_nobody_took_for_submission_is_handed_out_by_the_next_tick(toys, recorder):
    key = toys.key()
    ledger.claim_due(toys.conn, now=NOON)
    assert tick(toys, recorder, NOON).submitted == 1
    assert recorder.handed[0]["id"] == toys.only_job(key)["id"]


@dataclass
class Picky(Recorder):
    """Has no deployment for the key that it is handed first."""

    refused: str = ""

    def submit(self, job):
        self.refused = self.refused or job["key"]
        if job["key"] == self.refused:
            raise LookupError(job["key"])
        return super().submit(job)


def test_a_job_that_cannot_be_submitted_does_not_keep_back_the_others(toys):
    names = {toys.key(name).key for name in ("bear", "duck", "fox")}
    picky = Picky()
    with suppress(LookupError):
        tick(toys, picky, NOON)
    assert {job["key"] for job in picky.handed} == names - {picky.refused}


def test_a_flow_run_that_came_to_nothing_is_replaced_and_does_nothing_any_more(toys, recorder):
    key = toys.key()
    tick(toys, recorder, NOON)
    recorder.lost.add(toys.only_job(key)["flow_run_id"])
    assert [tick(toys, recorder, NOON + MINUTE).submitted for _ in range(2)] == [1, 0]
    [old, new] = recorder.handed
    assert (old["submission"], new["submission"]) == (1, 2)
    before = toys.only_job(key)
    assert toys.start(old, submission=old["submission"]) is None
    with pytest.raises(BadRequestError) as refusal, toys.running(key, job_id=old["id"], submission=1):
        pytest.fail("it ran")
    assert refusal.value.code == "JOB_NOT_WAITING"
    assert (toys.only_job(key), toys.runs(key)) == (before, [])
    toys.succeed(key, job_id=new["id"], submission=2)


def test_a_job_that_runs_is_not_taken_back_though_its_flow_run_seems_lost(toys, recorder):
    key = toys.key()
    tick(toys, recorder, NOON)
    recorder.lost.add(toys.only_job(key)["flow_run_id"])
    with toys.running(key, job_id=toys.only_job(key)["id"], submission=1) as run:
        assert tick(toys, recorder, NOON + MINUTE).submitted == 0
        end_well(run)


@pytest.mark.spec("002 6.4", "002 6.5")
def test_a_request_survives_a_process_that_dies_right_after_its_run(toys, recorder):
    key = toys.key(next_run_at=None)
    toys.enqueue(key, after(-1))
    with process("ask_succeed_and_die", key.key) as worker:
        assert worker.wait() == -signal.SIGKILL
    eventually(lambda: not toys.is_locked(key))
    assert [job["status"] for job in toys.jobs(key)] == ["success"]
    ticks = [tick(toys, recorder, after(hour)) for hour in (3, 4)]
    assert [(done.reaped, done.claimed, done.submitted) for done in ticks] == [(0, 1, 1), (0, 0, 0)]
    assert [job["trigger"] for job in toys.jobs(key)] == ["SCHEDULED", "MANUAL_PENDING"]


@pytest.mark.parametrize("ends", [end_well, None], ids=["ends well", "fails"])
def test_a_job_deleted_while_it_runs_leaves_a_run_that_ends(toys, recorder, ends):
    key = toys.key(next_run_at=None)
    with pytest.raises(ToyError), toys.running(key) as run:
        toys.conn.execute("DELETE FROM ingestion_jobs")
        assert tick(toys, recorder, after(1)).reaped == 0
        if ends:
            ends(run)
        raise ToyError
    assert [record["status"] for record in toys.runs(key)] == ["completed" if ends else "failed"]
    assert toys.jobs(key) == []
    eventually(lambda: not toys.is_locked(key))
    assert tick(toys, recorder, after(2)).reaped == 0


def test_a_run_whose_session_postgres_ends_stops_and_is_closed_by_the_reaper(toys):
    key = toys.key()
    with pytest.raises(FeedmillError) as stopped, toys.running(key) as run:
        toys.conn.execute("SELECT pg_terminate_backend(%s, 10000)", [run.conn.info.backend_pid])
        end_well(run)
    assert stopped.type is LockLostError
    assert [record["status"] for record in toys.runs(key)] == ["running"]
    assert toys.reap(after(1)) == 1
    assert [record["error_code"] for record in toys.runs(key)] == ["WORKER_LOST"]
    assert toys.only_job(key)["status"] == "queued"


def test_a_transaction_pooler_is_refused_in_one_clear_line(toys, database, monkeypatch):
    key = toys.key()
    with pooled(database) as address:
        monkeypatch.setenv("FEEDMILL_DATABASE_URL", address)
        with pytest.raises(DatabaseError) as refusal, toys.running(key):
            pytest.fail("it ran")
    assert refusal.value.code == "POOLER_REFUSED"
    assert "\n" not in refusal.value.message
    assert "FEEDMILL_DATABASE_URL" in refusal.value.hint
    assert (toys.jobs(key), toys.runs(key)) == ([], [])


def test_the_server_itself_is_no_pooler(toys):
    assert not runs.is_pooled(toys.conn)
