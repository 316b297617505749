"""The statements of the shelf: promotion of what a run saw, and what may be read from it."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from db.catalogue import Observation
from db.engine import Connection, Row, only_row
from db.sql import load_sql


@dataclass(frozen=True)
class ShelfCounts:
    """What a promotion does to the shelf."""

    on_shelf: int
    seen: int
    returned: int

    @property
    def would_expire(self) -> int:
        return max(0, self.on_shelf - self.seen)


def create_seen_set(conn: Connection, seen: Observation) -> None:
    """The products of the observation, for the other statements of this transaction."""
    conn.execute(load_sql("shelf/create_seen_set"), vars(seen))


def count_changes(conn: Connection, source_id: int) -> ShelfCounts:
    return ShelfCounts(**only_row(conn.execute(load_sql("shelf/count_changes"), {"source_id": source_id})))


def fold(conn: Connection, seen: Observation) -> None:
    """Older sightings leave only the time at which a product outside the set was last seen."""
    conn.execute(load_sql("shelf/mark_seen_outside"), vars(seen))
    conn.execute(load_sql("shelf/delete_older_sightings"), vars(seen))


def promote(conn: Connection, seen: Observation, *, promoted_at: datetime) -> int:
    """Put the seen set on the shelf; the number of the promotion. The caller's transaction makes it all or nothing."""
    params: dict[str, Any] = {**vars(seen), "promoted_at": promoted_at, "cutoff_obs": seen.obs_seq}
    seq = int(only_row(conn.execute(load_sql("shelf/insert_promotion"), params))["seq"])
    conn.execute(load_sql("shelf/close_spans"), {"source_id": seen.source_id, "last_seq": seq - 1})
    conn.execute(load_sql("shelf/insert_spans"), {"source_id": seen.source_id, "seq": seq})
    conn.execute(load_sql("shelf/delete_own_sightings"), params)
    conn.execute(load_sql("shelf/update_products"), {**params, "now": promoted_at})
    conn.execute(load_sql("shelf/delete_changes"), params)
    return seq


def mark_promoted(conn: Connection, seen: Observation, counts: ShelfCounts, *, seq: int) -> None:
    params = {**vars(counts), "would_expire": counts.would_expire, "run_id": seen.run_id, "seq": seq}
    conn.execute(load_sql("shelf/mark_promoted"), params)


def select_offers(
    conn: Connection, tenant_id: str, key: str | None, *, at: datetime | None, after: int, limit: int | None
) -> list[Row]:
    params = {"tenant_id": tenant_id, "key": key, "at": at, "after": after, "limit": limit}
    return conn.execute(load_sql("shelf/select_offers"), params).fetchall()


def select_prices(conn: Connection, tenant_id: str, source_product_id: int) -> list[Row]:
    params = {"tenant_id": tenant_id, "source_product_id": source_product_id}
    return conn.execute(load_sql("shelf/select_prices"), params).fetchall()


def select_products_named(
    conn: Connection, tenant_id: str, key: str, *, value: str, identity_type: str | None
) -> list[Row]:
    """The products of a feed that a person may mean by a value."""
    params = {"tenant_id": tenant_id, "key": key, "value": value, "identity_type": identity_type}
    return conn.execute(load_sql("shelf/select_products_named"), params).fetchall()
