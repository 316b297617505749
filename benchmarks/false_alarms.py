"""How often the gates hold back a file that nothing is wrong with: ordinary weeks of simulated shops, a file a day.

Run from the root: python -m benchmarks.false_alarms [SHOPS WEEKS]. Counts by frames, as phase two does in Postgres; a
test holds the two to the same figures. The limits were chosen from the first shops, and the rate is that of others.
Writes results/false_alarms.json and the tables of docs/gates.md.
"""

import sys
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

import polars as pl

from benchmarks import report
from db.enums import IdentityType
from feedmill.simulator.catalogue import CURRENCY, Catalogue
from feedmill.simulator.faults import FAULTS
from feedmill.simulator.weeks import WEEK, Shop, make_shop, ordinary_weeks
from tasks.catalogue.breaker import DEFAULTS, GATES, Counts, Limits, judge
from tasks.catalogue.offer_changes import counts_of

PAGE = report.HERE.parent / "docs" / "gates.md"
SHOPS, WEEKS = 50, 12
# Shares at which each gate is tried, besides the one that it has.
TRIED = (0.02, 0.05, 0.1, 0.2, 0.3, 0.5, 0.8)
CODES = {
    "spike": "SPIKE_THRESHOLD_EXCEEDED",
    "url_hash": "DATA_QUALITY_URL_HASH_SPIKE",
    "price_factor": "PRICE_FACTOR_SPIKE",
    "currency": "CURRENCY_SPIKE",
    "stock": "OUT_OF_STOCK_SPIKE",
}


def frame(catalogue: Catalogue) -> pl.DataFrame:
    """What the gates look at of a day's file."""
    products = catalogue.products
    return pl.DataFrame(
        {
            "identity_type": [IdentityType.IMPACT_ITEM_ID.value] * len(products),
            "identity_value": [product.item_id for product in products],
            "price": [product.price_cents * 100 for product in products],
            "currency": [CURRENCY] * len(products),
            "in_stock": [product.in_stock for product in products],
        }
    )


def days(shop: Shop, weeks: int) -> Iterator[tuple[int, Counts]]:
    """Each day but the first, against the day before: what was held back is taken as approved."""
    shelf = None
    for catalogue in ordinary_weeks(shop, weeks):
        file = frame(catalogue)
        if shelf is not None:
            yield catalogue.day, counts_of(shelf, file)
        shelf = file


def shares(counts: Counts) -> dict[str, float]:
    """Of each gate the share that it compares with its limit."""
    changes = counts.changes
    compared = counts.seen - changes.currency_changed
    return {
        "spike": counts.share,
        "url_hash": counts.url_hash_share,
        "price_factor": sum(changes.by_factor.values()) / compared if compared else 0,
        "currency": changes.currency_changed / counts.seen if counts.seen else 0,
        "stock": changes.sold_out / changes.in_stock_before if changes.in_stock_before else 0,
    }


def measure(shops: int, weeks: int) -> dict[str, Any]:
    began = time.perf_counter()
    chosen_from, tested_on = range(1, shops + 1), range(shops + 1, 2 * shops + 1)
    result = {
        "commit": report.commit(),
        "command": "python -m benchmarks.false_alarms",
        "data": {"shops": shops, "weeks": weeks},
        "chosen_from": _judged(chosen_from, weeks),
        "tested_on": _judged(tested_on, weeks),
    }
    result["data"]["took_seconds"] = round(time.perf_counter() - began)
    return result


def _judged(seeds: range, weeks: int) -> dict[str, Any]:
    tally, alarms = _Tally(), []
    for seed in seeds:
        shop = make_shop(seed)
        for day, counts in days(shop, weeks):
            reasons = tally.add(counts)
            alarms += [{"shop": seed, "day": day, "products": counts.on_shelf, **reason} for reason in reasons]
    return {
        "seeds": [seeds.start, seeds.stop - 1],
        "runs": tally.runs,
        "figures": {gate: tally.figures(gate) for gate in GATES},
        "blocked_runs": tally.blocked,
        "alarms": alarms,
    }


class _Tally:
    """What all runs showed: how often each gate tripped at which share, and the largest share that it saw."""

    def __init__(self) -> None:
        self.runs = self.blocked = 0
        self._tripped: Counter[tuple[str, float | None]] = Counter()
        self._seen: dict[str, list[float]] = {gate: [] for gate in GATES}

    def add(self, counts: Counts) -> list[dict[str, Any]]:
        """The reasons of the gates as they come."""
        self.runs += 1
        found = judge(counts, DEFAULTS)
        self.blocked += bool(found)
        self._note(found, None)
        for share in TRIED:
            self._note(judge(counts, {gate: _at(limits, share) for gate, limits in DEFAULTS.items()}), share)
        for gate, value in shares(counts).items():
            self._seen[gate].append(value)
        return [reason.document() for reason in found]

    def _note(self, reasons: tuple[Any, ...], share: float | None) -> None:
        codes = {reason.code for reason in reasons}
        self._tripped.update((gate, share) for gate in GATES if CODES[gate] in codes)

    def figures(self, gate: str) -> dict[str, Any]:
        seen = sorted(self._seen[gate])
        return {
            "share": DEFAULTS[gate].share,
            "false_alarms": self._tripped[gate, None],
            "largest_share": round(seen[-1], 4),
            "share_in_999_of_1000": round(seen[int(0.999 * len(seen))], 4),
            "false_alarms_at": {str(share): self._tripped[gate, share] for share in TRIED},
        }


def _at(limits: Limits, share: float) -> Limits:
    return Limits(share, limits.least)  # without the limit on counts, which would hide what the share does


def tables(result: Mapping[str, Any]) -> list[str]:
    """The tables of the page, from the results alone."""
    return [*_rates(result), "", *_thresholds(result), "", *_outcomes()]


def _rates(result: Mapping[str, Any]) -> list[str]:
    data, found, runs = result["data"], result["tested_on"], result["tested_on"]["runs"]
    of = f"{data['shops']} shops, {data['weeks']} weeks, a file a day: {runs:,} runs after the first of each shop"
    of += f", none of which the limits were chosen from (seeds {found['seeds'][0]} to {found['seeds'][1]})"
    lines = [
        "### False alarms in ordinary weeks",
        "",
        f"{of}; commit {result['commit'][:12]}; `{result['command']}`",
        "",
        "| gate | blocks over | false alarms | rate | largest share seen | 999 of 1,000 runs stay below |",
        "|---|---|---|---|---|---|",
    ]
    for gate, one in found["figures"].items():
        most = DEFAULTS[gate].most
        limit = f"{one['share']:.0%}" + (f", or {most:,} products" if most else "")
        rate = f"{one['false_alarms'] / runs:.2%}"
        seen = f"{one['largest_share']:.1%} | {one['share_in_999_of_1000']:.1%}"
        lines.append(f"| `{gate}` | {limit} | {one['false_alarms']} | {rate} | {seen} |")
    new = sum(found["figures"][gate]["false_alarms"] for gate in ("price_factor", "currency", "stock"))
    every = f"Runs held back by any gate: {found['blocked_runs']} ({found['blocked_runs'] / runs:.2%})"
    return [*lines, "", f"{every}; by `price_factor`, `currency` or `stock`: {new} ({new / runs:.2%})."]


def _thresholds(result: Mapping[str, Any]) -> list[str]:
    found, head = result["chosen_from"], " | ".join(f"{share:.0%}" for share in TRIED)
    lines = [
        "### The shops that the limits were chosen from",
        "",
        f"False alarms in {found['runs']:,} runs of as many other shops (seeds {found['seeds'][0]} to"
        f" {found['seeds'][1]}), if a gate had another share and no limit on counts.",
        "",
        f"| gate | {head} | largest share seen |",
        "|---|" + "---|" * (len(TRIED) + 1),
    ]
    for gate, one in found["figures"].items():
        counts = " | ".join(map(str, one["false_alarms_at"].values()))
        lines.append(f"| `{gate}` | {counts} | {one['largest_share']:.1%} |")
    return lines


def _outcomes() -> list[str]:
    """Every fault of the simulator and what stops it; tests deliver each to a real feed."""
    stopped = [f"| {fault.title} | `{fault.stopped_by}` |" for fault in FAULTS.values() if fault.stopped_by]
    passed = [f"| {fault.title} | {fault.note} |" for fault in FAULTS.values() if not fault.stopped_by]
    return [
        "### Faults that are stopped",
        "",
        "| fault, in a file after a good one | reason of the block, or code of the refused file |",
        "|---|---|",
        *stopped,
        "",
        "### Faults that nothing stops",
        "",
        "| fault | what happens |",
        "|---|---|",
        *passed,
    ]


def main() -> None:
    shops, weeks = map(int, sys.argv[1:3]) if len(sys.argv) > 2 else (SHOPS, WEEKS)
    result = measure(shops, weeks)
    assert result["tested_on"]["runs"] == shops * (weeks * WEEK - 1)
    if len(sys.argv) == 1:
        report.save("false_alarms", result)
        report.write_section("false_alarms", tables(result), page=PAGE)
    print("\n".join(tables(result)))


if __name__ == "__main__":
    main()
