"""From measured loads to medians, from medians to ratios, and from both to the section of the README."""

import statistics
from collections.abc import Mapping, Sequence
from typing import Any

FEW, MANY = "500000", "5000000"
STEP_TITLES = {"first": "first load", "changed": "10% of prices changed", "same": "no row changed, other bytes"}
TITLES = {
    "feedmill": "feedmill",
    "literal": "literal writes",
    "dlt_arrow": "dlt merge, Arrow tables",
    "dlt_rows": "dlt merge, rows",
}
# Of build order 4, for 500,000 rows; times the floor.
RATIO_TARGETS = {"first": 4.0, "changed": 1.5, "same": 1.0}
PEAK_TARGETS_MB = {FEW: 600, MANY: 1200}
WAL_TARGET_MB = 3
DLT_TARGET = 6
SCALE_TARGET = 10.5


def medians(samples: Sequence[Mapping[str, Any]], rows: int) -> dict[str, Any]:
    """By contender and step. The floor is the median of all its loads: it does the same work at every step."""
    grouped: dict[str, dict[str, list[Mapping[str, Any]]]] = {}
    for sample in samples:
        grouped.setdefault(sample["contender"], {}).setdefault(sample["step"], []).append(sample)
    every = [sample for sample in samples if sample["contender"] == "floor"]
    floor = statistics.median(sample["seconds"] for sample in every)
    found = {
        name: {step: _median(of, rows, floor=floor) for step, of in steps.items()}
        for name, steps in grouped.items()
        if name != "floor"
    }
    return {"csv_bytes": every[0]["details"]["csv_bytes"], "floor": _median(every, rows, floor=floor), **found}


def _median(of: Sequence[Mapping[str, Any]], rows: int, *, floor: float) -> dict[str, Any]:
    seconds = statistics.median(sample["seconds"] for sample in of)
    return {
        "seconds": round(seconds, 3),
        "all_seconds": [sample["seconds"] for sample in of],
        "times_floor": round(seconds / floor, 2),
        "rows_per_second": round(rows / seconds),
        "wal_mb": round(statistics.median(sample["wal_mb"] for sample in of), 2),
        "peak_mb": max(sample["peak_mb"] for sample in of),
        "before_mb": max(sample["before_mb"] for sample in of),
        "parts": {
            name: round(statistics.median(sample["details"][name] for sample in of), 3)
            for name in of[0]["details"]
            if name != "csv_bytes"
        },
    }


def compared(figures: Mapping[str, Any]) -> dict[str, Any]:
    """How many times longer the others take than feedmill, and many rows than few."""
    found: dict[str, Any] = {}
    for rows, size in figures.items():
        ours = size.get("feedmill", {})
        others = {name: steps for name, steps in size.items() if name in TITLES and name != "feedmill"}
        found[rows] = {
            name: {step: round(steps[step]["seconds"] / ours[step]["seconds"], 2) for step in ours if step in steps}
            for name, steps in others.items()
        }
    if FEW in figures and MANY in figures:
        few, many = figures[FEW].get("feedmill", {}), figures[MANY].get("feedmill", {})
        found["scale"] = {step: round(many[step]["seconds"] / few[step]["seconds"], 2) for step in few}
    return found


def section(result: Mapping[str, Any]) -> list[str]:
    """The section of the README, from the results alone."""
    on, data = result["machine"], result["data"]
    commit = result["commit"][:12] + result["commit"][40:]  # with its plus, if files differed
    lines = [
        "## The catalogue",
        "",
        f"{on['cores']} cores, {on['memory_gib']} GiB, {on['system']}, Python {on['python']}, Postgres {on['postgres']}"
        f" (embedded, durability {data['durability']}), load average {data['load_average']} at the start;"
        f" commit {commit}; seed {result['seed']}; `{result['command']}`",
        "",
        *_WHAT,
    ]
    for rows, size in result["figures"].items():
        lines += ["", *_size_table(rows, size)]
    return [*lines, "", *_compared_table(result["compared"])]


_WHAT = [
    "Loads of the same gzipped files in turns, each in a process and on a database of its own, after a vacuum and a",
    "checkpoint. Medians; memory is the highest peak of the loading process, in brackets what it held before the load.",
    "The floor is `gunzip | COPY` of the raw text into one table without an index; the others are described at the",
    "head of `catalogue/*.py`. feedmill runs without Prefect's API. After each step all contenders had the same number",
    "of products and the same sum of prices.",
]


def _size_table(rows: str, size: Mapping[str, Any]) -> list[str]:
    megabytes = f"{size['csv_bytes'] / 1e6:,.0f} MB of CSV, {size['gzip_bytes'] / 1e6:,.1f} MB gzipped"
    lines = [
        f"### {int(rows):,} rows, {megabytes}, {_rounds(size['rounds'])}",
        "",
        "| | seconds | x floor | target | rows/s | WAL, MB | peak memory, MB | seconds of its parts |",
        "|---|---|---|---|---|---|---|---|",
        _line("floor", size["floor"], target=""),
    ]
    for name, title in TITLES.items():
        for step in (step for step in STEP_TITLES if step in size.get(name, {})):
            target = _target(rows, step) if name == "feedmill" else ""
            lines.append(_line(f"{title}: {STEP_TITLES[step]}", size[name][step], target=target))
    return lines


def _rounds(number: int) -> str:
    return "1 round" if number == 1 else f"{number} rounds"


def _target(rows: str, step: str) -> str:
    targets = []
    if rows == FEW:
        targets.append(f"<= {RATIO_TARGETS[step]} x")
        targets += [f"WAL <= {WAL_TARGET_MB} MB"] if step == "same" else []
    if rows in PEAK_TARGETS_MB:
        targets.append(f"memory <= {PEAK_TARGETS_MB[rows]:,} MB")
    return ", ".join(targets)


def _line(title: str, figure: Mapping[str, Any], *, target: str) -> str:
    parts = ", ".join(f"{name} {seconds:.2f}" for name, seconds in figure["parts"].items())
    cells = (
        title,
        f"{figure['seconds']:.2f}",
        f"{figure['times_floor']:.2f}",
        target,
        f"{figure['rows_per_second']:,}",
        f"{figure['wal_mb']:,.1f}",
        f"{figure['peak_mb']:,} ({figure['before_mb']:,})",
        parts,
    )
    return f"| {' | '.join(cells)} |"


def _compared_table(found: Mapping[str, Any]) -> list[str]:
    titles = list(STEP_TITLES.values())
    lines = [f"| compared | {' | '.join(titles)} | target |", "|---|---|---|---|---|"]
    for rows, others in found.items():
        if rows != "scale":
            lines += [_compared_line(rows, name, ratios) for name, ratios in others.items()]
    if "scale" in found:
        cells = " | ".join(f"{found['scale'][step]:.1f}" for step in STEP_TITLES)
        lines.append(
            f"| seconds of feedmill for {int(MANY):,} rows / for {int(FEW):,} | {cells} | <= {SCALE_TARGET} each |"
        )
    return lines


def _compared_line(rows: str, name: str, ratios: Mapping[str, float]) -> str:
    cells = " | ".join(f"{ratios[step]:.1f}" if step in ratios else "" for step in STEP_TITLES)
    target = f">= {DLT_TARGET} with 10% changed" if name.startswith("dlt") and rows == FEW else ""
    return f"| seconds of {TITLES[name]} / of feedmill, {int(rows):,} rows | {cells} | {target} |"
