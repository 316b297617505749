"""What may be read from the shelf: offers, prices, and the evidence on a run that waits."""

from collections.abc import Sequence
from datetime import datetime
from decimal import Decimal
from uuid import UUID

from db.engine import Connection, Row
from db.sql import load_sql


def select_offers(
    conn: Connection, tenant_id: str, key: str | None, *, at: datetime | None, after: int, limit: int | None
) -> list[Row]:
    """Offers by id, each with what is known of its source. A promotion between the two statements changes neither."""
    params = {"tenant_id": tenant_id, "key": key, "at": at}
    visible = {row["source_id"]: row for row in conn.execute(load_sql("shelf/select_visible_sources"), params)}
    columns = {f"{name}s": [row[name] for row in visible.values()] for name in ("source_id", "newest_seq", "since")}
    found = conn.execute(load_sql("shelf/select_offers"), {**columns, "after": after, "limit": limit})
    return [{**visible[row["source_id"]], **row} for row in found]


def select_prices(conn: Connection, tenant_id: str, source_product_id: int) -> list[Row]:
    params = {"tenant_id": tenant_id, "source_product_id": source_product_id}
    return conn.execute(load_sql("shelf/select_prices"), params).fetchall()


def select_products_named(
    conn: Connection, tenant_id: str, key: str, *, value: str, identity_type: str | None
) -> list[Row]:
    """The products of a feed that a person may mean by a value."""
    params = {"tenant_id": tenant_id, "key": key, "value": value, "identity_type": identity_type}
    return conn.execute(load_sql("shelf/select_products_named"), params).fetchall()


def select_products(conn: Connection, tenant_id: str, product_ids: Sequence[int]) -> list[Row]:
    """What is applied of these products."""
    params = {"tenant_id": tenant_id, "product_ids": list(product_ids)}
    return conn.execute(load_sql("shelf/select_products"), params).fetchall()


def select_shelf_diff(conn: Connection, tenant_id: str, source_id: int, *, before: int, after: int) -> list[Row]:
    """The products that differ between the shelves after two promotions of a source; 0 is before the first."""
    params = {"tenant_id": tenant_id, "source_id": source_id, "seq_before": before, "seq_after": after}
    return conn.execute(load_sql("shelf/select_shelf_diff"), params).fetchall()


def select_newer_run(conn: Connection, tenant_id: str, run_id: UUID) -> UUID | None:
    """A run that makes this one stale."""
    params = {"tenant_id": tenant_id, "run_id": run_id}
    row = conn.execute(load_sql("shelf/select_newer_run"), params).fetchone()
    return row["run_id"] if row else None


def select_sighted(conn: Connection, tenant_id: str, run_id: UUID) -> bool:
    """Whether what the run saw is still on record."""
    params = {"tenant_id": tenant_id, "run_id": run_id}
    return conn.execute(load_sql("shelf/select_sighted"), params).fetchone() is not None


def select_moves(conn: Connection, tenant_id: str, run_id: UUID, *, entering: bool, limit: int) -> list[Row]:
    params = {"tenant_id": tenant_id, "run_id": run_id, "entering": entering, "limit": limit}
    return conn.execute(load_sql("shelf/select_moves"), params).fetchall()


def select_move_groups(conn: Connection, tenant_id: str, run_id: UUID, *, entering: bool, limit: int) -> list[Row]:
    params = {"tenant_id": tenant_id, "run_id": run_id, "entering": entering, "limit": limit}
    return conn.execute(load_sql("shelf/select_move_groups"), params).fetchall()


def select_price_moves(conn: Connection, tenant_id: str, run_id: UUID, *, limit: int) -> list[Row]:
    params = {"tenant_id": tenant_id, "run_id": run_id, "limit": limit}
    return conn.execute(load_sql("shelf/select_price_moves"), params).fetchall()


def select_offer_changes(
    conn: Connection, tenant_id: str, run_id: UUID, *, gate: str, factors: Sequence[str], near: str, limit: int
) -> list[Row]:
    """Products that a waiting run would change in the way that a gate looks at."""
    params = {"tenant_id": tenant_id, "run_id": run_id, "gate": gate}
    by = {"factors": list(factors), "near": near, "limit": limit}
    return conn.execute(load_sql("shelf/select_offer_changes"), {**params, **by}).fetchall()


def select_offer_change_counts(
    conn: Connection, tenant_id: str, run_id: UUID, *, edges: Sequence[Decimal]
) -> dict[str, list[Row]]:
    """What a waiting run would change about offers, counted: by `factor`, `currency` and `stock`."""
    params = {"tenant_id": tenant_id, "run_id": run_id, "edges": list(edges)}
    counted: dict[str, list[Row]] = {"factor": [], "currency": [], "stock": []}
    for row in conn.execute(load_sql("shelf/select_offer_change_counts"), params):
        counted[row["kind"]].append(row)
    return counted


def select_runs_before(conn: Connection, tenant_id: str, run_id: UUID, *, limit: int) -> list[Row]:
    params = {"tenant_id": tenant_id, "run_id": run_id, "limit": limit}
    return conn.execute(load_sql("shelf/select_runs_before"), params).fetchall()
