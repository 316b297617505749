"""The floor: gunzip | COPY of the raw text into one ordinary table. Nothing can load a file and be much faster."""

import csv
import gzip
import subprocess
from decimal import Decimal
from pathlib import Path

from benchmarks.catalogue.job import Job
from db import engine
from db.engine import Connection

PIECE_BYTES = 1 << 20

_SHOWN = 'SELECT count(*) AS products, sum("Current_Price"::numeric) AS total FROM raw'


def header(file: Path) -> list[str]:
    with gzip.open(file, "rt", encoding="utf-8", newline="") as text:
        return next(csv.reader(text))


def text_columns(file: Path) -> str:
    return ", ".join(f'"{name}" text' for name in header(file))


def prepare(job: Job) -> None:
    """An empty table, made in a transaction of its own: in the one that made it, COPY would write no WAL."""
    with engine.open_connection(job.address) as conn:
        conn.execute("DROP TABLE IF EXISTS raw")
        conn.execute(f"CREATE TABLE raw ({text_columns(job.file)})")


def load(job: Job) -> dict[str, float]:
    with engine.open_connection(job.address) as conn:
        return {"csv_bytes": copy_inflated(conn, job.file, "raw")}


def copy_inflated(conn: Connection, file: Path, table: str) -> int:
    """Bytes of text copied into the table."""
    copied = 0
    with (
        subprocess.Popen(["gzip", "-dc", file], stdout=subprocess.PIPE) as gunzip,
        conn.cursor() as cursor,
        cursor.copy(f"COPY {table} FROM STDIN (FORMAT csv, HEADER)") as copy,
    ):
        while piece := gunzip.stdout.read(PIECE_BYTES):
            copy.write(piece)
            copied += len(piece)
    assert gunzip.returncode == 0, file
    return copied


def shown(job: Job, conn: Connection) -> tuple[int, Decimal]:
    """Number of products and the sum of their prices, which every contender must have right."""
    del job
    found = engine.only_row(conn.execute(_SHOWN))
    return found["products"], found["total"]
