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

# What a product is beside its price, in the order of the statements that copy it.
ATTRIBUTES = (
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
)  # fmt: skip - a list of names
_PRICE = ("product_id", "price", "original_price", "currency", "in_stock", "signature", "price_reason")


@dataclass(frozen=True)
class Observation:
    """One attempt of a run at reading its file."""

    source_id: int
    run_id: UUID
    obs_seq: int
    observed_at: datetime


def insert_catalogue_run(
    conn: Connection, run_id: UUID, feed: Row, *, plan_digest: str | None = None, replayed_from: str | None = None
) -> None:
    params = {"run_id": run_id, "feed_id": feed["id"], "source_id": feed["source_id"]}
    asked = {"plan_digest": plan_digest, "replayed_from_run_id": replayed_from}
    record = {**params, **asked, "config_version": feed["config_version"]}
    conn.execute(load_sql("catalogue/insert_catalogue_run"), record)


def mark_observation(conn: Connection, source_id: int, run_id: UUID, *, at: datetime) -> Observation:
    """The next observation of the source, taken under its lock."""
    params = {"source_id": source_id, "run_id": run_id, "at": at}
    row = only_row(conn.execute(load_sql("catalogue/mark_observation"), params))
    return Observation(source_id, run_id, row["obs_seq"], row["observed_at"])


def copy_state(conn: Connection, source_id: int, schema: dict[Any, Any], *, fingerprint_version: int) -> pl.DataFrame:
    """The narrow state of a source, as a frame of this schema."""
    params = {"source_id": source_id, "fingerprint_version": fingerprint_version}
    return copy_out(conn, load_sql("catalogue/copy_state"), params, schema)


def create_staged_prices(conn: Connection) -> None:
    conn.execute(load_sql("catalogue/create_staged_prices"))


def relax_commit(conn: Connection) -> None:
    """The open transaction's commit does not wait for the disk."""
    conn.execute(load_sql("catalogue/relax_commit"))


def copy_products(conn: Connection, seen: Observation, new: pl.DataFrame) -> pl.Series:
    """The ids of these products, which were not there before."""
    given = conn.execute(load_sql("catalogue/select_product_ids"), {"count": new.height}).fetchall()
    ids = pl.Series("product_id", [row["id"] for row in given], dtype=pl.Int64)
    run, at = pl.lit(str(seen.run_id)), pl.lit(seen.observed_at.isoformat())
    stamped = [
        pl.lit(seen.source_id).alias("source"),
        run.alias("by"),
        run.alias("last_by"),
        at.alias("at"),
        at.alias("last_at"),
    ]
    rows = new.select(ids, "identity_type", "identity_value", *ATTRIBUTES, *stamped)
    copy_in(conn, load_sql("catalogue/copy_products"), rows)
    return ids


def copy_product_changes(conn: Connection, seen: Observation, changed: pl.DataFrame) -> int:
    """How many products changed."""
    stamped = {"source_id": seen.source_id, "obs_seq": seen.obs_seq, "run_id": str(seen.run_id)}
    rows = changed.select("product_id", *ATTRIBUTES, **{name: pl.lit(value) for name, value in stamped.items()})
    return copy_in(conn, load_sql("catalogue/copy_product_changes"), rows)


def copy_prices(conn: Connection, seen: Observation, prices: pl.DataFrame) -> int:
    """How many first prices of new products were appended."""
    stamped = {"obs_seq": seen.obs_seq, "run_id": str(seen.run_id), "at": seen.observed_at.isoformat()}
    rows = prices.select(*_PRICE, **{name: pl.lit(value) for name, value in stamped.items()})
    return copy_in(conn, load_sql("catalogue/copy_prices"), rows)


def append_prices(conn: Connection, seen: Observation, prices: pl.DataFrame) -> int:
    """How many prices were appended."""
    if not prices.height:
        return 0
    copy_in(conn, load_sql("catalogue/copy_staged_prices"), prices.select(_PRICE))
    return conn.execute(load_sql("catalogue/append_prices"), vars(seen)).rowcount


def add_counts(conn: Connection, run_id: UUID, *, created: int, prices: int) -> None:
    params = {"run_id": run_id, "created": created, "prices": prices}
    conn.execute(load_sql("catalogue/add_counts"), params)


def insert_sighting(conn: Connection, seen: Observation, *, batch_no: int, product_ids: pl.Series) -> None:
    listed = product_ids.sort().cast(pl.String).str.join(",").item()  # sorted, they take a third of the space
    params = {**vars(seen), "batch_no": batch_no, "product_ids": f"{{{listed}}}"}
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


def mark_skipped(conn: Connection, run_id: UUID, reason: str, *, seq: int | None) -> None:
    conn.execute(load_sql("catalogue/mark_skipped"), {"run_id": run_id, "skipped_reason": reason, "seq": seq})


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
