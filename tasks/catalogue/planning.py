"""A plan for a feed: its file fetched and read, compared with what there is, and nothing written."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import polars as pl

from db import catalogue, offers, runs, shelf
from db.clock import Clock
from db.engine import Connection, Row, connect, session_errors, snapshot
from db.enums import ScheduleStatus
from db.errors import RefusedError
from tasks import exclusive, files, progress
from tasks.catalogue import breaker, diff, load
from tasks.catalogue.access import limits_of, max_bytes_of, remote_of
from tasks.catalogue.fingerprints import FINGERPRINT_VERSION
from tasks.catalogue.freshness import LastFile, SkipReason, unchanged_by_hash
from tasks.catalogue.identity import KEY
from tasks.catalogue.money import SCALE
from tasks.catalogue.parse import ROW
from tasks.catalogue.plan import Basis, Plan, make_plan, shelf_schema
from tasks.catalogue.registry import PIPELINE, find_feed
from tasks.catalogue.survey import Survey, survey_file
from tasks.transport import Download, open_retriever

# What a person would call a change of a product.
_TOLD = ("title", "delivered_url", "image_url", "impact_item_id", "sku", "upc", "brand", "category", "description")

Sample = dict[str, Any]


@dataclass(frozen=True)
class Forecast:
    """A plan, with what surrounds it."""

    feed_key: str
    planned_at: datetime
    is_busy: bool  # a run may be changing what the plan rests on
    would_skip: SkipReason | None  # what a run without the plan would make of the file
    download_bytes: int
    plan: Plan
    samples: dict[str, list[Sample]]


def plan_feed(key: str, clock: Clock, *, sample: int) -> Forecast:
    """What a run of the feed would do now, with so many products of each kind. Takes no lock and writes nothing."""
    with connect() as conn, files.work_folder() as folder:
        feed = find_feed(conn, key)
        _refuse_removed(feed)
        now = clock.stamp(feed["last_stamp_at"])
        download = _fetch(feed, folder / "feed")
        max_products = feed["max_product_count"]
        survey = survey_file(download.path, limits_of(feed), max_products=max_products, on_rows=progress.report_rows)
        with snapshot(conn):
            plan = _compare(conn, feed, survey, content_hash=download.sha256, now=now)
            samples = {name: list(rows) for name, rows in _samples(conn, feed, plan, count=sample)}
        return Forecast(
            feed_key=key,
            planned_at=now,
            is_busy=_is_busy(conn, key),
            would_skip=unchanged_by_hash(LastFile(sha256=feed["last_content_hash"]), download.sha256),
            download_bytes=download.size_bytes,
            plan=plan,
            samples=samples,
        )


def _refuse_removed(feed: Row) -> None:
    if feed["status"] == ScheduleStatus.REMOVED:
        message = f"the feed {feed['feed_key']!r} was removed, so it will not run"
        raise RefusedError(message, code="FEED_REMOVED")


def _is_busy(conn: Connection, key: str) -> bool:
    with session_errors(conn):
        return runs.lock_is_held(conn, exclusive.find_schedule(conn, PIPELINE, key)["lock_id"])


def _fetch(feed: Row, target: Path) -> Download:
    with open_retriever(remote_of(feed)) as retriever:
        return retriever.download(target, max_bytes=max_bytes_of(feed), on_progress=_fetched)


def _fetched(done: int, total: int | None) -> None:
    progress.report("fetching", done, total)


def _compare(conn: Connection, feed: Row, survey: Survey, *, content_hash: str, now: datetime) -> Plan:
    source_id = feed["source_id"]
    basis = Basis(content_hash, shelf.select_newest_seq(conn, source_id), breaker.limits_of(feed["gates"]))
    state = catalogue.copy_state(conn, source_id, diff.state_schema(), fingerprint_version=FINGERPRINT_VERSION)
    on_shelf = shelf.copy_shelf(conn, source_id, shelf_schema())
    heartbeat = feed["heartbeat_hours"]
    return make_plan(survey, state, on_shelf, basis=basis, now=now, heartbeat_hours=heartbeat)


def _samples(conn: Connection, feed: Row, plan: Plan, *, count: int) -> Iterator[tuple[str, Iterator[Sample]]]:
    """The first products of each kind, as they stand in the file; of those that vanish, as they were put on file."""
    chosen = {
        "new": plan.new,
        "changed": plan.changed,
        "vanished": plan.gone,
        "returned": plan.returned,
        "price_moves": plan.moves,
    }
    chosen = {name: frame.head(count) for name, frame in chosen.items()}
    ids = pl.concat([frame["product_id"] for frame in chosen.values()]).drop_nulls().unique().to_list()
    known = {row["id"]: row for row in offers.select_products(conn, feed["tenant_id"], ids)}
    in_file = [frame.select(ROW, *KEY, "product_id", "fingerprint") for name, frame in chosen.items() if ROW in frame]
    wanted = pl.concat(in_file).unique(ROW)
    told = load.attributes_of(wanted, plan.survey.reading) if wanted.height else wanted
    attributes = {row[ROW]: row for row in told.iter_rows(named=True)}
    for name, frame in chosen.items():
        yield name, (_sample(row, known, attributes.get(row.get(ROW))) for row in frame.iter_rows(named=True))


def _sample(row: Row, known: dict[int, Row], told: Row | None) -> Sample:
    """One product: what it is called, what it costs now and then, and what else changes."""
    before = known.get(row["product_id"])
    named = told or before or {}
    return {
        "identity_type": row["identity_type"],
        "identity_value": row["identity_value"],
        **{name: named.get(name) for name in ("title", "brand", "category")},
        "price_shown": _amount(row.get("shown_price")),
        "price": _amount(row.get("price")),
        "currency": row.get("currency") or row.get("shown_currency"),
        "factor": round(row["factor"], 4) if "factor" in row else None,
        "fields_changed": [name for name in _TOLD if before[name] != told[name]] if before and told else [],
    }


def _amount(value: int | None) -> Decimal | None:
    """Money from ten-thousandths, with two decimals at least."""
    if value is None:
        return None
    exact = Decimal(value) / SCALE
    return exact.quantize(Decimal("0.01")) if value % 100 == 0 else exact
