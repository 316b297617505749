"""Many processes at once on the kernel alone: every slot once, one run of a key at a time, no lock left over."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.builders import NOON
from tests.toy import HOUR, Toys, eventually
from tests.toy_worker import STRESS_TABLES

ROOT = Path(__file__).parents[2]
SECONDS = 600


@pytest.mark.spec("001 3", "001 12", "002 6.1", "000 A3")
@pytest.mark.parametrize(
    ("processes", "keys", "slots"),
    [
        pytest.param(4, 6, 8, id="four processes and 48 slots"),
        pytest.param(8, 50, 40, id="eight processes and 2,000 slots", marks=pytest.mark.slow),
    ],
)
def test_every_slot_runs_once_and_no_two_of_a_key_at_once(conn, processes, keys, slots):
    toys = Toys(conn)
    conn.execute(STRESS_TABLES)
    for number in range(keys):
        toys.key(f"toy-{number}")
    errors = work_through(processes, last=NOON + (slots - 1) * HOUR)
    mishaps = conn.execute("SELECT what, count(*) AS times FROM mishaps GROUP BY what").fetchall()
    assert {row["what"]: row["times"] for row in mishaps} == {}
    assert errors == [""] * processes
    expected = {(f"toy-{number}", NOON + slot * HOUR) for number in range(keys) for slot in range(slots)}
    assert {(row["key"], row["slot"]) for row in conn.execute("SELECT * FROM done")} == expected
    jobs = conn.execute("SELECT key, slot, status, attempt FROM ingestion_jobs").fetchall()
    assert {(job["key"], job["slot"]) for job in jobs} == expected
    assert {(job["status"], job["attempt"]) for job in jobs} == {("success", 1)}
    runs = conn.execute("SELECT status, count(*) AS count FROM ingestion_runs GROUP BY status").fetchall()
    assert runs == [{"status": "completed", "count": keys * slots}]
    skipped = conn.execute("SELECT FROM audit_events WHERE event_name = 'SKIPPED_LOCK_BUSY'").fetchall()
    assert skipped == []
    eventually(lambda: not conn.execute("SELECT FROM pg_locks WHERE locktype = 'advisory'").fetchall())


def work_through(processes, *, last):
    """What each process says on standard error, when all have ended."""
    command = [sys.executable, "-m", "tests.toy_worker", "stress", last.isoformat()]
    started = [
        subprocess.Popen(command, cwd=ROOT, env=os.environ, stderr=subprocess.PIPE, text=True) for _ in range(processes)
    ]
    try:
        return [process.communicate(timeout=SECONDS)[1] for process in started]
    finally:
        for process in started:
            process.kill()
            process.wait()
