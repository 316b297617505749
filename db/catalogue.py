"""The statements of a catalogue run: its record, the state it compares with, and the batches it writes."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

import polars as pl
from psycopg.types.json import Jsonb

from db.copy import copy_in, copy_out
from db.engine import Connection, Row, only_row
from db.sql import load_sql

# The columns of staged_rows, in their order.
STAGED = (
    "product_id",
    "is_changed",
    "identity_type",
    "identity_value",
    "title",
    "url",
    "delivered_url",
    "image_url",
    "impact_item_id",
    "sku",
    "normalized_url_hash",
    "upc",
    "brand",
    "category",
    "description",
    "fingerprint",
    "fingerprint_version",
    "price",
    "original_price",
    "currency",
    "in_stock",
    "signature",
    "price_reason",
)  # fmt: skip - a list of names


@dataclass(frozen=True)
class Observation:
    """One attempt of a run at reading its file."""

    source_id: int
    run_id: UUID
    obs_seq: int
    observed_at: datetime


def insert_catalogue_run(conn: Connection, run_id: UUID, feed: Row) -> None:
    params = {"run_id": run_id, "feed_id": feed["id"], "source_id": feed["source_id"]}
    conn.execute(load_sql("catalogue/insert_catalogue_run"), {**params, "config_version": feed["config_version"]})


def mark_observation(conn: Connection, source_id: int, run_id: UUID, *, at: datetime) -> Observation:
    """The next observation of the source, taken under its lock."""
    params = {"source_id": source_id, "run_id": run_id, "at": at}
    row = only_row(conn.execute(load_sql("catalogue/mark_observation"), params))
    return Observation(source_id, run_id, row["obs_seq"], row["observed_at"])


def copy_state(conn: Connection, source_id: int, schema: Mapping[str, Any]) -> pl.DataFrame:
    """The narrow state of a source; times come as microseconds, which the schema's last column takes as they are."""
    raw = {**schema, "last_priced_at": pl.Float64}
    state = copy_out(conn, load_sql("catalogue/copy_state"), {"source_id": source_id}, raw)
    return state.with_columns(pl.col("last_priced_at").round().cast(pl.Int64).cast(schema["last_priced_at"]))


def create_staged_rows(conn: Connection) -> None:
    conn.execute(load_sql("catalogue/create_staged_rows"))


def write_batch(conn: Connection, seen: Observation, rows: pl.DataFrame) -> tuple[list[int], int]:
    """Ids of the new products and the number of changed ones. `rows` are those of the batch that write something."""
    params = vars(seen)
    copy_in(conn, load_sql("catalogue/copy_staged_rows"), rows.select(STAGED))
    created = conn.execute(load_sql("catalogue/insert_products"), params).rowcount
    new_ids = [row["id"] for row in conn.execute(load_sql("catalogue/mark_staged_products"), params)]
    changed = conn.execute(load_sql("catalogue/insert_product_changes"), params).rowcount
    prices = conn.execute(load_sql("catalogue/append_prices"), params).rowcount
    conn.execute(load_sql("catalogue/add_counts"), {"run_id": seen.run_id, "created": created, "prices": prices})
    return new_ids, changed


def insert_sighting(conn: Connection, seen: Observation, *, batch_no: int, product_ids: Sequence[int]) -> None:
    params = {**vars(seen), "batch_no": batch_no, "seen_at": seen.observed_at, "product_ids": list(product_ids)}
    conn.execute(load_sql("catalogue/insert_sighting"), params)


def insert_run_errors(conn: Connection, run_id: UUID, samples: Sequence[Mapping[str, Any]], *, now: datetime) -> None:
    with conn.cursor() as cursor:
        rows = [{**sample, "run_id": run_id, "created_at": now} for sample in samples]
        cursor.executemany(load_sql("catalogue/insert_run_errors"), rows)


def update_file_of_run(conn: Connection, run_id: UUID, file: Mapping[str, Any]) -> None:
    conn.execute(load_sql("catalogue/update_file_of_run"), {**file, "run_id": run_id})


def update_figures(conn: Connection, run_id: UUID, figures: Mapping[str, Any]) -> None:
    packed = {name: Jsonb(value) if isinstance(value, dict) else value for name, value in figures.items()}
    conn.execute(load_sql("catalogue/update_figures"), {**packed, "run_id": run_id})


def update_partial_figures(conn: Connection, run_id: UUID) -> None:
    """How far a run came that failed."""
    conn.execute(load_sql("catalogue/update_partial_figures"), {"run_id": run_id})


def mark_last_file(conn: Connection, run_id: UUID) -> None:
    conn.execute(load_sql("catalogue/mark_last_file"), {"run_id": run_id})


def clear_last_file(conn: Connection, run_id: UUID) -> None:
    conn.execute(load_sql("catalogue/clear_last_file"), {"run_id": run_id})


def mark_skipped(conn: Connection, run_id: UUID, reason: str) -> None:
    conn.execute(load_sql("catalogue/mark_skipped"), {"run_id": run_id, "skipped_reason": reason})


def select_runs(conn: Connection, tenant_id: str, key: str | None, *, limit: int | None) -> list[Row]:
    params = {"tenant_id": tenant_id, "key": key, "limit": limit}
    return conn.execute(load_sql("catalogue/select_runs"), params).fetchall()


def select_tenant_of_run(conn: Connection, run_id: UUID) -> str | None:
    """Whose run it is. For operators, who act for any tenant."""
    row = conn.execute(load_sql("catalogue/select_tenant_of_run"), {"id": run_id}).fetchone()
    return row["tenant_id"] if row else None


def select_run(conn: Connection, tenant_id: str, run_id: UUID) -> Row | None:
    return conn.execute(load_sql("catalogue/select_run"), {"tenant_id": tenant_id, "id": run_id}).fetchone()


def select_run_errors(conn: Connection, tenant_id: str, run_id: UUID) -> list[Row]:
    params = {"tenant_id": tenant_id, "run_id": run_id}
    return conn.execute(load_sql("catalogue/select_run_errors"), params).fetchall()
