"""feedmill itself, without the orchestration around it: the steps of a run as plain functions, no Prefect API."""

import os
import shutil
import time
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

from prefect.logging import disable_run_logger

from benchmarks.catalogue.job import CHANGED, FILES, FIRST, SAME, Job
from db import engine
from db.engine import Connection
from tasks import files
from tasks.catalogue import config, registry, steps
from tasks.catalogue.shelf.steps import settle
from tasks.exclusive import exclusive_run
from tasks.run import Start

KEY = "northfork"
MAX_BYTES = 5_000_000_000
_FIRST_DELIVERY = 1_790_000_000  # a time of modification; each delivery has a later one
_SHOWN = "SELECT count(*) AS products, sum(price) AS total FROM active_offers"
_LAST_RUN = "SELECT status, prices_written FROM affiliate_feed_runs ORDER BY started_at DESC LIMIT 1"


def prepare(job: Job) -> None:
    """The feed on file, and the next delivery at its address."""
    os.environ["FEEDMILL_DATABASE_URL"] = job.address
    delivered = _delivered(job)
    if job.step == FIRST:
        engine.bring_up_to_date(job.address)
        _put_on_file(job, delivered)
    shutil.copyfile(job.file, delivered)
    modified_at = _FIRST_DELIVERY + list(FILES).index(job.step)
    os.utime(delivered, (modified_at, modified_at))


def _delivered(job: Job) -> Path:
    return job.folder / "delivered.csv.gz"


def _put_on_file(job: Job, delivered: Path) -> None:
    """No heartbeat comes due: they are a day apart by default."""
    address = config.parse_address(delivered.as_uri())
    feed = registry.NewFeed(
        key=KEY,
        tenant_id="default",
        retailer="Northfork",
        settings=registry.FeedSettings(address=address, max_row_count=job.rows, max_file_size_bytes=MAX_BYTES),
        is_enabled=True,
        is_primary=True,
    )
    with engine.open_connection(job.address) as conn:
        registry.add_feed(conn, feed, registry.Actor("bench"))


def load(job: Job) -> dict[str, float]:
    """Seconds of each step of the run."""
    del job
    seconds: dict[str, float] = {}
    with disable_run_logger(), exclusive_run(steps.CATALOGUE, KEY, Start()) as run, files.work_folder() as folder:
        fetched = _timed(seconds, "fetch", lambda: steps.fetch_file.fn(run, folder))
        assert fetched.unchanged is None, fetched
        _timed(seconds, "keep", lambda: steps.keep_file.fn(run, fetched))
        seen = _timed(seconds, "load", lambda: steps.load_file.fn(run, fetched.path))
        _timed(seconds, "settle", lambda: settle.fn(run, seen))
    return seconds


def _timed(seconds: dict[str, float], name: str, act: Callable[[], Any]) -> Any:
    began = time.perf_counter()
    done = act()
    seconds[name] = round(time.perf_counter() - began, 3)
    return done


def shown(job: Job, conn: Connection) -> tuple[int, Decimal]:
    """What is on the shelf; and the run wrote as many prices as the file has new ones."""
    run = engine.only_row(conn.execute(_LAST_RUN))
    least, most = {FIRST: (1, 1), SAME: (0, 0), CHANGED: (0.08, 0.12)}[job.step]
    assert run["status"] == "SUCCEEDED", run
    assert least * job.rows <= run["prices_written"] <= most * job.rows, run
    found = engine.only_row(conn.execute(_SHOWN))
    return found["products"], found["total"]
