"""What the end of a run costs at size, and how long others wait for it: promotion, block, approval.

Run from the root: python -m benchmarks.shelf [PRODUCTS]
"""

import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any
from uuid import UUID

from prefect.logging import disable_run_logger

from benchmarks import report
from benchmarks.stocked import KEY, START, observe, stocked
from db import engine, offers
from db.clock import Clock
from db.engine import Connection
from tasks.catalogue import approval
from tasks.catalogue.registry import Actor
from tasks.catalogue.shelf.steps import settle
from tasks.catalogue.steps import CATALOGUE
from tasks.exclusive import exclusive_run
from tasks.run import Start

PRODUCTS = 500_000
TARGET_SECONDS = 1.0
# A step, the share of the catalogue in its file, and what it is called. Spread over hours in this order.
STEPS = (
    ("first", 0.99, "first promotion: all enter"),
    ("unchanged", 0.99, "unchanged: none enters or leaves"),
    ("some", 1.0, "one percent enters"),
    ("blocked", 0.6, "blocked: forty percent would leave"),
)

_PROBE = "SELECT FROM schedules WHERE key = %s FOR UPDATE"


class Bystander(threading.Thread):
    """Another session that wants the feed's row and a page of its offers, over and over; its longest waits."""

    def __init__(self, address: str) -> None:
        super().__init__(daemon=True)
        self._conn = engine.open_connection(address)
        self._ends = threading.Event()
        self.row_seconds = self.page_seconds = 0.0

    def run(self) -> None:
        while not self._ends.is_set():
            self.row_seconds = max(self.row_seconds, timed(lambda: self._conn.execute(_PROBE, [KEY])))
            self.page_seconds = max(self.page_seconds, timed(self._page))
            time.sleep(0.001)

    def _page(self) -> None:
        offers.select_offers(self._conn, "default", KEY, at=None, after=1000, limit=100)

    def end(self) -> None:
        self._ends.set()
        self.join()
        self._conn.close()


def timed(act: Callable[[], object]) -> float:
    began = time.perf_counter()
    act()
    return time.perf_counter() - began


@contextmanager
def watched() -> Iterator[dict[str, float]]:
    """How long the body takes, and how long a bystander waits meanwhile, in milliseconds."""
    figures: dict[str, float] = {}
    bystander = Bystander(engine.url())
    bystander.start()
    began = time.perf_counter()
    try:
        yield figures
    finally:
        figures["took_ms"] = round((time.perf_counter() - began) * 1000, 1)
        bystander.end()
        figures["row_wait_ms"] = round(bystander.row_seconds * 1000, 1)
        figures["page_wait_ms"] = round(bystander.page_seconds * 1000, 1)


def settled(hour: int, keeps: float) -> tuple[UUID, dict[str, float]]:
    clock = Clock(START + timedelta(hours=hour))
    with disable_run_logger(), exclusive_run(CATALOGUE, KEY, Start(clock=clock)) as run:
        seen = observe(run, keeps=keeps)
        with watched() as figures:
            settle.fn(run, seen)
    return run.id, figures


def measure(products: int) -> dict[str, Any]:
    figures: dict[str, Any] = {}
    with stocked(products) as conn:
        for hour, (name, keeps, _title) in enumerate(STEPS, start=1):
            run_id, figures[name] = settled(hour, keeps)
            conn.execute("ANALYZE shelf_spans")
        with watched() as figures["approved"]:
            approval.approve(run_id, Actor("benchmark", Clock(START + timedelta(hours=9))))
        _check(conn, products)
        postgres = conn.info.server_version
    return {
        "commit": report.commit(),
        "command": "python -m benchmarks.shelf",
        "machine": report.machine(postgres=postgres),
        "data": {"products": products, "durability": "as the server comes"},
        "figures": figures,
    }


def _check(conn: Connection, products: int) -> None:
    """The figures are of what they say."""
    runs = conn.execute("SELECT expiry_blocked, promotion_seq FROM affiliate_feed_runs ORDER BY started_at").fetchall()
    assert [run["promotion_seq"] for run in runs] == [1, 2, 3, 4], runs
    assert [run["expiry_blocked"] for run in runs] == [False, False, False, True], runs
    open_spans = conn.execute("SELECT count(*) AS n FROM shelf_spans WHERE to_seq IS NULL").fetchone()
    assert open_spans is not None
    assert abs(open_spans["n"] - 0.6 * products) < 100, open_spans


def table(result: dict[str, Any]) -> list[str]:
    """The section of the README, from the results alone."""
    figures, on, data = result["figures"], result["machine"], result["data"]
    titles = {name: title for name, _, title in STEPS} | {"approved": "approved: forty percent leave"}
    lines = [
        "## The shelf",
        "",
        f"{data['products']:,} products; {on['cores']} cores, {on['memory_gib']} GiB, {on['system']},"
        f" Python {on['python']}, Postgres {on['postgres']}"
        f" (embedded, durability {data['durability']}); commit {result['commit'][:12]}; `{result['command']}`",
        "",
        "| the end of a run, ms | takes | another session waits at most for the feed's row | a reader for a page |",
        "|---|---|---|---|",
    ]
    for name, title in titles.items():
        one = figures[name]
        lines.append(f"| {title} | {one['took_ms']:,.0f} | {one['row_wait_ms']:,.0f} | {one['page_wait_ms']:,.0f} |")
    target = f"Target: the unchanged run well under {TARGET_SECONDS:.0f} s."
    return [*lines, "", f"{target} Readers wait for no lock; beside a writer they take what the cores leave them."]


def main() -> None:
    result = measure(int(sys.argv[1]) if len(sys.argv) > 1 else PRODUCTS)
    if len(sys.argv) == 1:
        report.save("shelf", result)
        report.write_section("shelf", table(result))
    print("\n".join(table(result)))


if __name__ == "__main__":
    main()
