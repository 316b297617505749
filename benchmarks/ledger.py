"""What the ledger costs: claims among few and among many schedules, ticks without work, and queueing one job.

Run from the root: python -m benchmarks.ledger
"""

import os
import random
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import urlsplit

from benchmarks import report
from db import embedded, engine
from db.engine import Connection
from db.enums import Trigger
from db.jobs import Key, NewJob
from tasks import ledger
from tasks.ledger import Policies

SEED = 20261118
SIZES = (1_000, 100_000)
DUE = 100
ROUNDS = 40
ENQUEUED = 500
START = datetime(2026, 1, 1, tzinfo=UTC)
NEVER = START + timedelta(days=3650)
RATIO_TARGET = 2
ENQUEUE_TARGET_MS = 20

_SCHEDULES = """
    INSERT INTO schedules (tenant_id, pipeline, key, status, interval_seconds, next_run_at, created_at, updated_at)
    SELECT 'default', 'toy', 'toy-' || n, 'ENABLED', 3600, %(never)s, %(now)s, %(now)s
      FROM generate_series(0, %(count)s - 1) n
"""
_END_JOBS = "UPDATE ingestion_jobs SET status = 'success', finished_at = created_at WHERE status = 'queued'"


@dataclass(frozen=True)
class Ledger:
    """A database with so many schedules. Each tick comes with a connection of its own, as a dispatcher's does."""

    address: str
    size: int

    def timed(self, act: Callable[[Connection], object]) -> float:
        """Seconds of the act alone."""
        with engine.open_connection(self.address) as conn:
            return timed(lambda: act(conn))

    def make_due(self, chosen: list[int], now: datetime) -> None:
        """Exactly these are due; what ran before has ended."""
        keys = [f"toy-{number}" for number in chosen]
        with engine.open_connection(self.address) as conn:
            conn.execute(_END_JOBS)
            conn.execute("UPDATE schedules SET next_run_at = %s WHERE next_run_at < %s", [NEVER, NEVER])
            conn.execute("UPDATE schedules SET next_run_at = %s WHERE key = ANY(%s)", [now, keys])


@contextmanager
def ledgers() -> Iterator[list[Ledger]]:
    """A database for each size on an embedded server of its own, with its default durability."""
    with tempfile.TemporaryDirectory(prefix="feedmill-bench-") as home:
        os.environ["FEEDMILL_HOME"] = home
        os.environ.pop("FEEDMILL_DATABASE_URL", None)
        try:
            yield [Ledger(_filled(embedded.ensure(), size), size) for size in SIZES]
        finally:
            embedded.remove()


def _filled(server: str, size: int) -> str:
    name = f"bench_{size}"
    with engine.open_connection(server) as admin:
        admin.execute(f"CREATE DATABASE {name}")
    address = urlsplit(server)._replace(path=f"/{name}").geturl()
    engine.bring_up_to_date(address)
    with engine.open_connection(address) as conn:
        conn.execute(_SCHEDULES, {"never": NEVER, "now": START, "count": size})
        conn.execute("ANALYZE")
    return address


def timed(act: Callable[[], object]) -> float:
    began = time.perf_counter()
    act()
    return time.perf_counter() - began


def claims(of: list[Ledger]) -> dict[str, Any]:
    """Claiming as many due schedules among few and among many, in turns."""
    chance = random.Random(SEED)  # noqa: S311 - no secret
    seconds: dict[int, list[float]] = {one.size: [] for one in of}
    for number in range(ROUNDS + 1):
        now = START + timedelta(hours=number)
        for one in of if number % 2 else reversed(of):  # neither always comes after the other
            one.make_due(chance.sample(range(one.size), DUE), now)
            took = one.timed(lambda conn, now=now: _claim(conn, now))
            if number:  # the first round reads everything for the first time
                seconds[one.size].append(took)
    return {str(size): report.spread(values) for size, values in seconds.items()}


def _claim(conn: Connection, now: datetime) -> None:
    claimed = ledger.claim_due(conn, now=now)
    assert claimed == DUE, claimed


def idle(of: list[Ledger]) -> dict[str, Any]:
    """Looking for the dead, for retries, for requests and for slots, when there is nothing."""
    seconds: dict[int, list[float]] = {one.size: [] for one in of}
    for _ in range(ROUNDS):
        for one in of:
            seconds[one.size].append(one.timed(_look))
    return {str(size): report.spread(values) for size, values in seconds.items()}


def _look(conn: Connection) -> None:
    assert ledger.reap(conn, Policies(), now=START) == 0
    assert ledger.retry_due(conn, now=START) == 0
    assert ledger.enqueue_requests(conn, now=START) == 0
    assert ledger.claim_due(conn, now=START) == 0


def enqueueing(one: Ledger) -> dict[str, Any]:
    """One job after the other, each of another key and in a transaction of its own."""
    now = START + timedelta(days=1000)
    chosen = random.Random(SEED).sample(range(one.size), ENQUEUED)  # noqa: S311 - no secret
    new = [NewJob(Key("default", "toy", f"toy-{number}"), now, Trigger.MANUAL) for number in chosen]
    with engine.open_connection(one.address) as conn:
        return report.spread([timed(lambda job=job: ledger.enqueue(conn, job, now=now)) for job in new])


def measure() -> dict[str, Any]:
    with ledgers() as both:
        figures = {"idle": idle(both), "claim": claims(both)}
        both[-1].make_due([], START)
        figures["enqueue"] = enqueueing(both[-1])
        with engine.open_connection(both[0].address) as conn:
            postgres = conn.info.server_version
    few, many = (figures["claim"][str(size)]["median_ms"] for size in SIZES)
    return {
        "commit": report.commit(),
        "command": "python -m benchmarks.ledger",
        "machine": report.machine(postgres=postgres),
        "data": {"schedules": list(SIZES), "due": DUE, "jobs_enqueued": ENQUEUED, "durability": "as the server comes"},
        "seed": SEED,
        "figures": {**figures, "claim_ratio": round(many / few, 2)},
    }


def table(result: dict[str, Any]) -> list[str]:
    """The section of the README, from the results alone."""
    figures, on, data = result["figures"], result["machine"], result["data"]
    few, many = (str(size) for size in data["schedules"])
    lines = [
        "## The ledger",
        "",
        f"{on['cores']} cores, {on['memory_gib']} GiB, {on['system']}, Python {on['python']}, Postgres {on['postgres']}"
        f" (embedded, durability {data['durability']}); commit {result['commit'][:12]}; seed {result['seed']};"
        f" `{result['command']}`",
        "",
        f"| median (ninth decile), ms | {int(few):,} schedules | {int(many):,} schedules | ratio | target |",
        "|---|---|---|---|---|",
    ]
    for name, title in (("claim", f"claim {data['due']} that are due"), ("idle", "look, and find nothing to do")):
        ratio = figures[name][many]["median_ms"] / figures[name][few]["median_ms"]
        target = f"<= {RATIO_TARGET}" if name == "claim" else ""
        lines.append(
            f"| {title} | {_cell(figures[name][few])} | {_cell(figures[name][many])} | {ratio:.2f} | {target} |"
        )
    lines.append(f"| queue one job | | {_cell(figures['enqueue'])} | | median < {ENQUEUE_TARGET_MS} ms |")
    return lines


def _cell(figure: dict[str, float]) -> str:
    return f"{figure['median_ms']:.1f} ({figure['p90_ms']:.1f})"


def main() -> None:
    result = measure()
    report.save("ledger", result)
    report.write_section("ledger", table(result))
    print("\n".join(table(result)))


if __name__ == "__main__":
    main()
