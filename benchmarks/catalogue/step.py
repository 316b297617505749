"""One load by one contender in a process of its own, so that its peak memory is its own. Prints one line of JSON.

Run by benchmarks.catalogue: python -m benchmarks.catalogue.step CONTENDER STEP ROWS ADDRESS FILE FOLDER
"""

import json
import resource
import sys
import time
from importlib import import_module
from pathlib import Path
from typing import Any

import psutil

from benchmarks.catalogue.job import Job
from db import engine
from db.engine import Connection

_WAL = "SELECT pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0')::bigint AS bytes"
_PER_MB = 1e6 if sys.platform == "darwin" else 1e6 / 1024  # ru_maxrss is bytes there, KiB on Linux


def find(contender: str) -> Any:
    """What offers prepare(job), load(job) and shown(job, conn) under this name."""
    module, _, name = contender.partition(".")
    found = import_module(f"benchmarks.catalogue.{module}")
    return getattr(found, name) if name else found


def measure(contender: Any, job: Job) -> dict[str, Any]:
    contender.prepare(job)
    with engine.open_connection(job.address) as conn:
        conn.execute("CHECKPOINT")
        before_mb = psutil.Process().memory_info().rss / 1e6
        wal = _wal_bytes(conn)
        began = time.perf_counter()
        details = contender.load(job)
        seconds = time.perf_counter() - began
        wal = _wal_bytes(conn) - wal
        peak_mb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / _PER_MB
        # Real runs are hours apart. What autovacuum owes here must not end up on the bill of the next.
        conn.execute("VACUUM (ANALYZE)")
        products, total = contender.shown(job, conn)
    return {
        "seconds": round(seconds, 3),
        "wal_mb": round(wal / 1e6, 3),
        "peak_mb": round(peak_mb),
        "before_mb": round(before_mb),
        "details": details,
        "shown": [products, f"{total:.2f}"],
    }


def _wal_bytes(conn: Connection) -> int:
    return int(engine.only_row(conn.execute(_WAL))["bytes"])


def main() -> None:
    contender, step, rows, address, file, folder = sys.argv[1:]
    job = Job(step, int(rows), address, Path(file), Path(folder))
    print(json.dumps(measure(find(contender), job)))


if __name__ == "__main__":
    main()
