"""What a page of offers costs: 100 of many active ones, beside the same page fetched by primary key.

Run from the root: python -m benchmarks.offers [PRODUCTS]
"""

import random
import sys
import time
from collections.abc import Callable
from typing import Any

from prefect.logging import disable_run_logger

from benchmarks import report
from benchmarks.stocked import KEY, START, observe, stocked
from db import offers
from db.clock import Clock
from db.engine import Connection, Row
from tasks.catalogue.shelf.steps import settle
from tasks.catalogue.steps import CATALOGUE
from tasks.exclusive import exclusive_run
from tasks.run import Start

SEED = 20261118
PRODUCTS = 500_000
PAGE = 100
ROUNDS = 200
RATIO_TARGET = 3

# As if somebody had kept the ids of the page's products and prices: the rows alone, no question of what may show.
_BY_KEY = """
    SELECT p.*, price.*
      FROM source_products p
      JOIN prices price ON price.source_product_id = p.id
     WHERE p.id = ANY(%(product_ids)s) AND price.id = ANY(%(price_ids)s)
     ORDER BY p.id
"""
_VIEW = "SELECT * FROM active_offers WHERE source_product_id > %(after)s ORDER BY source_product_id LIMIT %(limit)s"


def by_key(conn: Connection, after: int) -> list[Row]:
    ids = list(range(after + 1, after + PAGE + 1))
    return conn.execute(_BY_KEY, {"product_ids": ids, "price_ids": ids}).fetchall()


def page(conn: Connection, after: int) -> list[Row]:
    return offers.select_offers(conn, "default", KEY, at=None, after=after, limit=PAGE)


def page_of_all_feeds(conn: Connection, after: int) -> list[Row]:
    return offers.select_offers(conn, "default", None, at=None, after=after, limit=PAGE)


def page_of_the_past(conn: Connection, after: int) -> list[Row]:
    return offers.select_offers(conn, "default", KEY, at=START, after=after, limit=PAGE)


def page_of_the_view(conn: Connection, after: int) -> list[Row]:
    return conn.execute(_VIEW, {"after": after, "limit": PAGE}).fetchall()


WAYS: dict[str, tuple[str, Callable[[Connection, int], list[Row]]]] = {
    "by_key": ("the same products and prices by primary key", by_key),
    "page": ("`feedmill offers KEY --limit 100 --after ID`", page),
    "all_feeds": ("the same of all feeds", page_of_all_feeds),
    "past": ("the same of a past moment (`--at`)", page_of_the_past),
    "view": ("the view `active_offers`, ordered and limited", page_of_the_view),
}


def measure(products: int) -> dict[str, Any]:
    chance = random.Random(SEED)  # noqa: S311 - no secret
    seconds: dict[str, list[float]] = {name: [] for name in WAYS}
    with stocked(products) as conn:
        with disable_run_logger(), exclusive_run(CATALOGUE, KEY, Start(clock=Clock(START))) as run:
            settle.fn(run, observe(run))
        conn.execute("VACUUM ANALYZE")
        for number in range(ROUNDS + 1):
            after = chance.randrange(products - PAGE)
            for name, (_title, fetch) in chance.sample(sorted(WAYS.items()), len(WAYS)):
                began = time.perf_counter()
                found = fetch(conn, after)
                took = time.perf_counter() - began
                assert len(found) == PAGE, (name, len(found))
                if number:  # the first round reads everything for the first time
                    seconds[name].append(took)
        postgres = conn.info.server_version
    figures = {name: report.spread(values) for name, values in seconds.items()}
    return {
        "commit": report.commit(),
        "command": "python -m benchmarks.offers",
        "machine": report.machine(postgres=postgres),
        "data": {"offers": products, "page": PAGE, "durability": "as the server comes"},
        "seed": SEED,
        "figures": {**figures, "ratio": round(figures["page"]["median_ms"] / figures["by_key"]["median_ms"], 2)},
    }


def table(result: dict[str, Any]) -> list[str]:
    """The section of the README, from the results alone."""
    figures, on, data = result["figures"], result["machine"], result["data"]
    lines = [
        "## A page of offers",
        "",
        f"{data['page']} of {data['offers']:,} active offers, pages from anywhere, in turns; {on['cores']} cores,"
        f" {on['memory_gib']} GiB, {on['system']}, Python {on['python']}, Postgres {on['postgres']}"
        f" (embedded); commit {result['commit'][:12]}; seed {result['seed']}; `{result['command']}`",
        "",
        "| one page, ms | median (ninth decile) | ratio | target |",
        "|---|---|---|---|",
    ]
    for name, (title, _) in WAYS.items():
        one = figures[name]
        ratio = one["median_ms"] / figures["by_key"]["median_ms"]
        target = f"<= {RATIO_TARGET}" if name == "page" else ""
        lines.append(f"| {title} | {one['median_ms']:.2f} ({one['p90_ms']:.2f}) | {ratio:.2f} | {target} |")
    return lines


def main() -> None:
    result = measure(int(sys.argv[1]) if len(sys.argv) > 1 else PRODUCTS)
    if len(sys.argv) == 1:
        report.save("offers", result)
        report.write_section("offers", table(result))
    print("\n".join(table(result)))


if __name__ == "__main__":
    main()
