"""What every benchmark writes down beside its figures: the machine, the commit, a file of results, a table to read."""

import json
import os
import platform
import statistics
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import psutil

HERE = Path(__file__).parent
README = HERE / "README.md"


def machine(*, postgres: int) -> dict[str, Any]:
    """Of this machine what moves figures; `postgres` is the server's version as a number."""
    return {
        "cores": os.cpu_count(),
        "memory_gib": round(psutil.virtual_memory().total / 2**30, 1),
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "postgres": f"{postgres // 10_000}.{postgres % 10_000}",
    }


def commit() -> str:
    """The commit that was measured, with a plus if files differ from it."""
    changed = _git("status", "--porcelain", "--untracked-files=no")
    return _git("rev-parse", "HEAD") + ("+" if changed else "")


def _git(*words: str) -> str:
    return subprocess.run(["git", *words], cwd=HERE, capture_output=True, text=True, check=True).stdout.strip()


def spread(seconds: Sequence[float]) -> dict[str, float]:
    """Median and ninth decile of some durations, in milliseconds."""
    return {
        "median_ms": round(statistics.median(seconds) * 1000, 2),
        "p90_ms": round(statistics.quantiles(seconds, n=10)[-1] * 1000, 2),
        "rounds": len(seconds),
    }


def save(name: str, result: Mapping[str, Any]) -> Path:
    path = HERE / "results" / f"{name}.json"
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")
    return path


def write_section(name: str, lines: Sequence[str], *, page: Path = README) -> None:
    """Put these lines in place of the section of that name in the README or another page, or at its end."""
    begin, end = f"<!-- {name}: made from results/{name}.json -->", f"<!-- end of {name} -->"
    text = page.read_text(encoding="utf-8")
    section = "\n".join([begin, *lines, end])
    if begin in text:
        before, _, rest = text.partition(begin)
        text = before + section + rest.partition(end)[2]
    else:
        text = f"{text.rstrip()}\n\n{section}\n"
    page.write_text(text, encoding="utf-8")
