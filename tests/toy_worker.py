"""Programs that tests start as processes of their own, to kill them or to race them: `python -m tests.toy_worker`."""

import os
import random
import signal
import sys
from collections.abc import Callable
from datetime import datetime
from uuid import UUID

from psycopg.errors import UniqueViolation

from db import engine
from db.clock import Clock
from db.engine import Connection, Row
from db.errors import BadRequestError, BusyError
from tasks import dispatch, exclusive, ledger
from tasks.run import Run, Start
from tests.builders import NOON
from tests.fakes.submitter import Recorder
from tests.toy import after, end_well, toy_pipeline

STRESS_TABLES = """
    CREATE TABLE at_work (key text PRIMARY KEY);
    CREATE TABLE done (key text, slot timestamptz, PRIMARY KEY (key, slot));
    CREATE TABLE mishaps (what text);
"""


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def hold(key: str) -> None:
    """Begin a run, say so, and wait to be killed."""
    with exclusive.exclusive_run(toy_pipeline(), key, Start(clock=Clock(NOON))):
        sys.stdout.write("running\n")
        sys.stdout.flush()
        signal.pause()


def ask_succeed_and_die(key: str) -> None:
    """Die between the end of a run, during which another was asked for, and everything after it."""
    with exclusive.exclusive_run(toy_pipeline(), key, Start(clock=Clock(NOON))) as run:
        ledger.request(run.conn, run.key, by="ann", now=after(1))
        run.clock = Clock(after(2))
        end_well(run)
        die()


class Mortal(Recorder):
    def submit(self, job: Row) -> UUID:
        die()
        return super().submit(job)


def dispatch_and_die() -> None:
    """A tick that claims what is due and dies as it hands it out."""
    with engine.connect() as conn:
        dispatch.tick(conn, Mortal(), ledger.Policies(), clock=Clock(NOON))


def stress(last: str) -> None:
    """Claim and run whatever there is, in step with the others, until the last slot is done."""
    with engine.connect() as conn:
        while (now := _moment(conn)) and now <= datetime.fromisoformat(last):
            ledger.claim_due(conn, now=now)
            if ledger.reap(conn, ledger.Policies(), now=now):
                _mishap(conn, "one that lived was reaped")
            _run_one(conn, now)


def _moment(conn: Connection) -> datetime:
    """The next slot when everything before it is done, else the one that is under way. One statement, one view."""
    row = conn.execute(
        "SELECT (SELECT max(slot) FROM ingestion_jobs WHERE status IN ('queued', 'running')) AS under_way,"
        " (SELECT min(next_run_at) FROM schedules) AS next"
    ).fetchone()
    return row["under_way"] or row["next"]


def _run_one(conn: Connection, now: datetime) -> None:
    """Any job that is queued or running; often one that another process is about to start or has started."""
    found = conn.execute(
        "SELECT id, key, slot FROM ingestion_jobs WHERE status IN ('queued', 'running') ORDER BY random() LIMIT 1"
    ).fetchone()
    if found is None:
        return
    try:
        with exclusive.exclusive_run(toy_pipeline(), found["key"], Start(job_id=found["id"], clock=Clock(now))) as run:
            _work(run, found["slot"])
            end_well(run)
    except (BusyError, BadRequestError):
        pass  # another process was faster


def _work(run: Run, slot: datetime) -> None:
    held = "SELECT FROM pg_locks JOIN schedules s ON objid = s.lock_id WHERE locktype = 'advisory' AND granted"
    if not run.conn.execute(f"{held} AND pid = pg_backend_pid() AND s.key = %s", [run.key.key]).fetchall():
        _mishap(run.conn, "a record without a lock")
    try:
        run.conn.execute("INSERT INTO at_work VALUES (%s)", [run.key.key])
    except UniqueViolation:
        _mishap(run.conn, "two of a key at once")
    run.conn.execute("SELECT pg_sleep(%s)", [random.random() / 200])  # noqa: S311 - no secret
    run.conn.execute("DELETE FROM at_work WHERE key = %s", [run.key.key])
    try:
        run.conn.execute("INSERT INTO done VALUES (%s, %s)", [run.key.key, slot])
    except UniqueViolation:
        _mishap(run.conn, "a slot twice")


def _mishap(conn: Connection, what: str) -> None:
    conn.execute("INSERT INTO mishaps VALUES (%s)", [what])


PROGRAMS: dict[str, Callable[..., None]] = {
    program.__name__: program for program in (hold, ask_succeed_and_die, dispatch_and_die, stress)
}

if __name__ == "__main__":
    PROGRAMS[sys.argv[1]](*sys.argv[2:])
