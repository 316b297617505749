"""Many histories at once: `python -m tests.model.long --histories 2000 --seed 1`.

Tells how far it is, stops at the first difference with the smallest history that shows it, and otherwise writes what it
did to docs/state-machine.json and, from that, docs/state-machine.md.
"""

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

os.environ.setdefault("POLARS_MAX_THREADS", "1")  # frames of a few rows: a pool of threads costs more than it gives

import pytest

from tests.model.check import check, opened_world
from tests.model.machine import Difference
from tests.postgres import served

ROOT = Path(__file__).parents[2]
PER_DATABASE = 200  # histories; a new database then, so that the last ones are as quick as the first
NOT_A_KIND = ("histories", "steps")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--histories", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--minutes", type=float, help="stop after the part of the histories that passes this")
    parser.add_argument("--docs", type=Path, default=ROOT / "docs", help="where the result goes")
    asked = parser.parse_args()
    counts: Counter[str] = Counter()
    begun, commit = time.monotonic(), commit_of_tree()
    try:
        for _ in play(asked.histories, asked.seed, counts):
            if asked.minutes and time.monotonic() - begun > asked.minutes * 60:
                break
    except Difference as difference:
        _say("\n".join([str(difference), *difference.__notes__]))
        _say(f"seed {asked.seed}, after {counts['histories']} histories")
        return 1
    result = document(commit, asked.seed, counts, seconds=time.monotonic() - begun)
    (asked.docs / "state-machine.json").write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")
    (asked.docs / "state-machine.md").write_text(page(result), encoding="utf-8")
    return 0


def play(histories: int, seed: int, counts: Counter[str]) -> Iterator[None]:
    """So many histories, part by part, each in a new database."""
    begun = time.monotonic()
    with tempfile.TemporaryDirectory() as name, pytest.MonkeyPatch.context() as patch:
        folder = Path(name)
        patch.setenv("FEEDMILL_HOME", name)
        with served(folder / "postgres", bin_dir=None) as server:
            for first in range(0, histories, PER_DATABASE):
                size = min(PER_DATABASE, histories - first)
                with server.clone() as url, opened_world(url, folder, patch) as world:
                    check(world, histories=size, seed=seed + first, counts=counts)
                _say(f"{first + size} histories, {counts['steps']} steps, {time.monotonic() - begun:.0f} s")
                yield


def commit_of_tree() -> str:
    git = ["git", "-C", str(ROOT)]
    commit = subprocess.run([*git, "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=True).stdout
    changed = subprocess.run([*git, "status", "--porcelain"], capture_output=True, text=True, check=True).stdout
    return commit.strip() + (" with changes" if changed else "")


def document(commit: str, seed: int, counts: Counter[str], *, seconds: float) -> dict[str, Any]:
    return {
        "commit": commit,
        "seed": seed,
        "histories": counts["histories"],
        "steps": counts["steps"],
        "seconds": round(seconds),
        "machine": f"{os.cpu_count()} cores, {platform.machine()}, Python {platform.python_version()}",
        "kinds": {name: counts[name] for name in sorted(counts) if name not in NOT_A_KIND},
    }


def page(result: dict[str, Any]) -> str:
    """What the long run did, for people."""
    rows = "\n".join(f"| {name} | {number:,} |" for name, number in result["kinds"].items())
    return f"""# The state machine: what its last long run did

Random histories of one feed, played on the engine with a real Postgres and on a literal reference (`tests/model`).
After each step every relation is compared: products, presence, seen rows, prices, current prices, offers now and at
every moment of the history, run records, the feed with its failures and its change detection.
Made by `python -m tests.model.long`; do not edit.

- {result["histories"]:,} histories, {result["steps"]:,} steps, no difference
- seed {result["seed"]}, commit {result["commit"]}
- {result["seconds"]:,} s on {result["machine"]}

| step | times |
|---|---|
{rows}
"""


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
