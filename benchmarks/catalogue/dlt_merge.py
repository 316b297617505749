"""A dlt merge of the same file by item id, in two ways: rows as dictionaries, and Arrow tables.

Pages of dictionaries are what dlt's own reader of CSV yields; they go by its csv loader (COPY), which is faster
than its default, insert_values. Arrow tables by its parquet loader (ADBC) are the fastest that it has for Postgres. The
strategy is its default, delete-insert, which keeps one row of a key as a feed must; upsert takes as long. No telemetry.
"""

import csv
import gzip
import os
from collections.abc import Callable, Iterator
from decimal import Decimal
from itertools import islice
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from urllib.parse import parse_qs, quote, urlsplit

from benchmarks.catalogue.files import KEY
from benchmarks.catalogue.floor import header
from benchmarks.catalogue.job import Job
from db import engine
from db.engine import Connection
from db.home import home

os.environ["RUNTIME__DLTHUB_TELEMETRY"] = "false"
os.environ["DLT_DATA_DIR"] = str(home())
os.environ["RUNTIME__LOG_LEVEL"] = "ERROR"  # its warnings are about columns that may hold nothing

import dlt
import pyarrow as pa
from dlt.common.runtime import anon_tracker
from pyarrow import csv as arrow_csv

# It makes up an id and writes it to a folder of the machine even if nothing is ever sent.
anon_tracker.get_anonymous_id = lambda: ""

_AMOUNTS = ("Current_Price", "Original_Price")
_BLOCK_BYTES = 8 << 20
_PAGE_ROWS = 10_000
_SHOWN = "SELECT count(*) AS products, sum(current_price) AS total FROM catalogue.items"


def pages(file: Path) -> Iterator[list[dict[str, Any]]]:
    with gzip.open(file, "rt", encoding="utf-8", newline="") as text:
        rows = csv.DictReader(text)
        while page := [_valued(row) for row in islice(rows, _PAGE_ROWS)]:
            yield page


def _valued(row: dict[str, str]) -> dict[str, Any]:
    return {**row, **{name: Decimal(row[name]) if row[name] else None for name in _AMOUNTS}}


def tables(file: Path) -> Iterator[pa.Table]:
    types = dict.fromkeys(header(file), pa.string()) | dict.fromkeys(_AMOUNTS, pa.decimal128(18, 4))
    with pa.input_stream(str(file), compression="gzip") as inflated:
        batches = arrow_csv.open_csv(
            inflated,
            read_options=arrow_csv.ReadOptions(block_size=_BLOCK_BYTES),
            convert_options=arrow_csv.ConvertOptions(column_types=types),
        )
        for batch in batches:
            yield pa.Table.from_batches([batch])


def contender(read: Callable[[Path], Iterator[Any]], file_format: str) -> SimpleNamespace:
    return SimpleNamespace(prepare=prepare, load=lambda job: merge(job, read(job.file), file_format), shown=shown)


def prepare(job: Job) -> None:
    """Nothing: the pipeline makes its tables, and finds its state again in its folder."""


def merge(job: Job, items: Iterator[Any], file_format: str) -> dict[str, float]:
    pipeline = dlt.pipeline(
        "bench",
        destination=dlt.destinations.postgres(credentials=_credentials(job.address)),
        dataset_name="catalogue",
        pipelines_dir=str(job.folder),
    )
    how = {"disposition": "merge", "strategy": "delete-insert"}
    resource = dlt.resource(items, name="items", primary_key=KEY, write_disposition=how)
    pipeline.run(resource, loader_file_format=file_format).raise_on_failed_jobs()
    steps = pipeline.last_trace.steps
    return {step.step: round((step.finished_at - step.started_at).total_seconds(), 3) for step in steps[:-1]}


def _credentials(address: str) -> str:
    """The address as dlt reads it: the socket's folder in the place of the host, and some password."""
    parts = urlsplit(address)
    query = parse_qs(parts.query)
    host, port = quote(query["host"][0], safe=""), query["port"][0]
    return f"postgresql://{parts.username}:none@{host}:{port}{parts.path}"


def shown(job: Job, conn: Connection) -> tuple[int, Decimal]:
    del job
    found = engine.only_row(conn.execute(_SHOWN))
    return found["products"], found["total"]


ROWS = contender(pages, "csv")
ARROW = contender(tables, "parquet")
