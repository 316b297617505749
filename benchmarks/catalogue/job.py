"""One thing to measure: who loads which file into which database."""

from dataclasses import dataclass
from pathlib import Path

SEED = 20261118
# The steps in order and the file of each: as first delivered; the same rows in other bytes; one price in ten changed.
FILES = {"first": "base", "same": "same", "changed": "changed"}
FIRST, SAME, CHANGED = FILES


@dataclass(frozen=True)
class Job:
    step: str
    rows: int
    address: str  # of a database that only this contender uses
    file: Path
    folder: Path  # for what a contender keeps between its steps


def files_of(folder: Path, rows: int) -> dict[str, Path]:
    """Where the files of a catalogue of so many rows lie, by step."""
    return {step: folder / f"catalogue-{rows}-{name}.csv.gz" for step, name in FILES.items()}
