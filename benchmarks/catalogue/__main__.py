"""What a catalogue costs: feedmill, the floor, the design's literal writes and a dlt merge load the same files.

Run from the root: python -m benchmarks.catalogue [--rows 50000 500000 5000000] [--only feedmill literal]
"""

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from benchmarks import report
from benchmarks.catalogue import place, table
from benchmarks.catalogue.job import FILES, SEED, files_of
from benchmarks.catalogue.place import Place

ROOT = Path(__file__).parents[2]
CONTENDERS = {
    "floor": "floor",
    "feedmill": "mill",
    "literal": "literal",
    "dlt_arrow": "dlt_merge.ARROW",
    "dlt_rows": "dlt_merge.ROWS",
}
ROUNDS = 3
MOST_ROWS_IN_ROUNDS = 500_000  # what is larger is measured once


def say(words: str, end: str = "\n") -> None:
    print(words, end=end, file=sys.stderr, flush=True)


def make_files(folder: Path, rows: int) -> dict[str, Path]:
    """The file of each step. In a process of its own: what this one holds would count for those that it starts."""
    files = files_of(folder, rows)
    if not all(file.exists() for file in files.values()):
        say(f"{rows:,} rows: making the files")
        words = [sys.executable, "-m", "benchmarks.catalogue.files", folder, "--rows", str(rows)]
        subprocess.run(words, cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
    return files


def one_round(there: Place, names: tuple[str, ...], files: dict[str, Path], rows: int) -> Iterator[dict[str, Any]]:
    """Every contender's every step, on databases of their own, step by step in turns."""
    with there.databases(tuple(f"bench_{name}" for name in names)) as addresses, there.empty_folder() as folder:
        for step in FILES:
            shown = set()
            for name in names:
                say(f"  {name:10} {step:8}", end="")
                done = load(name, step, rows=rows, address=addresses[f"bench_{name}"], file=files[step], folder=folder)
                say(f"{done['seconds']:9.2f} s {done['wal_mb']:9.1f} MB of WAL {done['peak_mb']:6,} MB of memory")
                shown.add(tuple(done.pop("shown")))
                yield {"contender": name, "step": step, **done}
            assert len(shown) == 1, f"the contenders do not agree after {step}: {shown}"


def load(name: str, step: str, *, rows: int, address: str, file: Path, folder: Path) -> dict[str, Any]:
    own = folder / name
    own.mkdir(exist_ok=True)
    words = [CONTENDERS[name], step, str(rows), address, file, own]
    command = [sys.executable, "-m", "benchmarks.catalogue.step", *words]
    done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode:
        sys.exit(f"{name} failed at {step}; its last words are above")
    return json.loads(done.stdout.splitlines()[-1])


def measure_size(there: Place, rows: int, names: tuple[str, ...], *, rounds: int, folder: Path) -> dict[str, Any]:
    files = make_files(folder, rows)
    samples: list[dict[str, Any]] = []
    for number in range(rounds):
        say(f"{rows:,} rows, round {number + 1} of {rounds}")
        began = time.monotonic()
        turn = names if number % 2 == 0 else tuple(reversed(names))  # nobody always comes after the same other
        samples += one_round(there, turn, files, rows)
        say(f"  the round took {time.monotonic() - began:.0f} s")
    about = {"gzip_bytes": next(iter(files.values())).stat().st_size, "rounds": rounds}
    return {**about, **table.medians(samples, rows)}


def measure(chosen: argparse.Namespace, names: tuple[str, ...]) -> dict[str, Any]:
    load_average = round(os.getloadavg()[0], 1)  # of others: a reader sees whether the machine was quiet
    with place.server() as there:
        figures = {
            str(rows): measure_size(
                there,
                rows,
                names,
                rounds=chosen.rounds or (ROUNDS if rows <= MOST_ROWS_IN_ROUNDS else 1),
                folder=chosen.files or there.folder / "files",
            )
            for rows in sorted(chosen.rows)
        }
        postgres = there.admin.info.server_version
    return {
        "commit": report.commit(),
        "command": f"python -m benchmarks.catalogue --rows {' '.join(figures)}",
        "machine": report.machine(postgres=postgres),
        "data": {"durability": "as the server comes", "changed": "one price in ten", "load_average": load_average},
        "seed": SEED,
        "figures": figures,
        "compared": table.compared(figures),
    }


def contenders(only: list[str] | None) -> tuple[str, ...]:
    """Those chosen and always the floor; refuses dlt if it is not installed."""
    names = tuple(name for name in CONTENDERS if name == "floor" or not only or name in only)
    if any(name.startswith("dlt") for name in names) and not (find_spec("dlt") and find_spec("adbc_driver_postgresql")):
        sys.exit("dlt is not installed; install it with: pip install --constraint requirements.lock -e '.[bench]'")
    return names


def count(text: str) -> int:
    """A number of rows or rounds; refuses what is not one."""
    if not text.isdecimal() or int(text) < 1:
        message = f"{text!r} is not a whole number above zero"
        raise argparse.ArgumentTypeError(message)
    return int(text)


def main() -> None:
    words = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    words.add_argument("--rows", type=count, nargs="+", default=[50_000, 500_000], metavar="N")
    words.add_argument("--only", nargs="+", choices=[name for name in CONTENDERS if name != "floor"], metavar="WHO")
    words.add_argument("--rounds", type=count, help=f"default {ROUNDS}, above {MOST_ROWS_IN_ROUNDS:,} rows 1")
    words.add_argument("--files", type=Path, help="a folder with the files from before, or for them to stay in")
    words.add_argument("--print", action="store_true", dest="only_print", help="write neither results nor README")
    chosen = words.parse_args()
    result = measure(chosen, contenders(chosen.only))
    lines = table.section(result)
    if not chosen.only and not chosen.only_print:
        report.save("catalogue", result)
        report.write_section("catalogue", lines)
    print("\n".join(lines))


if __name__ == "__main__":
    main()
