"""The statements of the shelf: what a run would move on it, promotion, and the end of a run that waited."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

import polars as pl
from psycopg.types.json import Jsonb

from db.catalogue import Observation
from db.copy import copy_out
from db.engine import Connection, Row, only_row
from db.sql import load_sql


@dataclass(frozen=True)
class ShelfCounts:
    """The shelf before a promotion and what the promotion would move; of the run's own figures those for gates."""

    on_shelf: int
    leaving: int
    entering: int
    returned: int
    products_upserted: int
    url_hash_fallback_count: int

    @property
    def seen(self) -> int:
        """Of the products on the shelf, those that the run saw."""
        return self.on_shelf - self.leaving

    @property
    def promoted(self) -> int:
        """All products that the run saw."""
        return self.seen + self.entering


@dataclass(frozen=True)
class Verdict:
    """What came of phase two: a promotion of this number, or reasons to wait, the first of them first."""

    seq: int | None = None
    reasons: tuple[dict[str, Any], ...] = ()


def select_newest_seq(conn: Connection, source_id: int) -> int:
    """The number of the newest promotion; 0 before the first."""
    return int(only_row(conn.execute(load_sql("shelf/select_newest_seq"), {"source_id": source_id}))["seq"])


def copy_shelf(conn: Connection, source_id: int, schema: dict[Any, Any]) -> pl.DataFrame:
    """Every product that was ever on the shelf, as a frame of this schema: whether it is, and what it shows."""
    return copy_out(conn, load_sql("shelf/copy_shelf"), {"source_id": source_id}, schema)


def create_moves(conn: Connection, seen: Observation) -> None:
    """What the observation moves, for the other statements of this transaction."""
    conn.execute(load_sql("shelf/create_moves"), vars(seen))


def count_moves(conn: Connection, seen: Observation) -> ShelfCounts:
    return ShelfCounts(**only_row(conn.execute(load_sql("shelf/count_moves"), vars(seen))))


def count_offer_changes(conn: Connection, seen: Observation, *, factors: Sequence[str], near: str) -> Row:
    """What the observation changes about the products that stay on the shelf; after `create_moves`."""
    params = {**vars(seen), "factors": list(factors), "near": near}
    return only_row(conn.execute(load_sql("shelf/count_offer_changes"), params))


def fold(conn: Connection, seen: Observation) -> None:
    """A set is complete: older sightings leave when a product outside it was last seen, older changes leave nothing."""
    conn.execute(load_sql("shelf/mark_seen_outside"), vars(seen))
    _delete(conn, seen, from_obs=0, to_obs=seen.obs_seq - 1)


def promote(conn: Connection, seen: Observation, *, promoted_at: datetime) -> int:
    """Put the observation on the shelf; the number of the promotion. All or nothing by the caller's transaction."""
    params: dict[str, Any] = {**vars(seen), "promoted_at": promoted_at, "cutoff_obs": seen.obs_seq}
    seq = int(only_row(conn.execute(load_sql("shelf/insert_promotion"), params))["seq"])
    conn.execute(load_sql("shelf/close_spans"), {"last_seq": seq - 1})
    conn.execute(load_sql("shelf/insert_spans"), {"source_id": seen.source_id, "seq": seq})
    conn.execute(load_sql("shelf/update_products"), {**params, "now": promoted_at})
    _delete(conn, seen, from_obs=seen.obs_seq, to_obs=seen.obs_seq)
    return seq


def _delete(conn: Connection, seen: Observation, *, from_obs: int, to_obs: int) -> None:
    params = {"source_id": seen.source_id, "from_obs": from_obs, "to_obs": to_obs}
    conn.execute(load_sql("shelf/delete_sightings"), params)
    conn.execute(load_sql("shelf/delete_changes"), params)


def repeat_promotion(conn: Connection, source_id: int, run_id: UUID, *, at: datetime) -> int | None:
    """The number of a promotion that repeats the newest; None if there is none, or if a newer set waits."""
    params = {"source_id": source_id, "run_id": run_id, "at": at}
    row = conn.execute(load_sql("shelf/repeat_promotion"), params).fetchone()
    return row["seq"] if row else None


def select_expiring(conn: Connection, *, now: datetime) -> list[Row]:
    """Feeds whose shelf runs empty soon and that were not announced yet."""
    return conn.execute(load_sql("shelf/select_expiring"), {"now": now}).fetchall()


def mark_judged(conn: Connection, run_id: UUID, counts: ShelfCounts, verdict: Verdict, *, would_expire: int) -> None:
    reasons = list(verdict.reasons)
    outcome = {"seq": verdict.seq, "reason": reasons[0]["code"] if reasons else None, "reasons": Jsonb(reasons)}
    conn.execute(load_sql("shelf/mark_judged"), {**_figures(counts, would_expire), **outcome, "run_id": run_id})


def mark_step_failed(conn: Connection, run_id: UUID) -> None:
    conn.execute(load_sql("shelf/mark_step_failed"), {"run_id": run_id})


def mark_approved(conn: Connection, run_id: UUID, counts: ShelfCounts, *, seq: int, by: str, at: datetime) -> bool:
    """False if the run was decided already."""
    params = {**_figures(counts, counts.leaving), "run_id": run_id, "seq": seq, "by": by, "at": at}
    return conn.execute(load_sql("shelf/mark_approved"), params).rowcount == 1


def mark_rejected(conn: Connection, run_id: UUID, *, by: str, reason: str, at: datetime) -> bool:
    """False if the run was decided already."""
    params = {"run_id": run_id, "by": by, "reason": reason, "at": at}
    return conn.execute(load_sql("shelf/mark_rejected"), params).rowcount == 1


def _figures(counts: ShelfCounts, would_expire: int) -> dict[str, Any]:
    return {**vars(counts), "seen": counts.seen, "would_expire": would_expire}
