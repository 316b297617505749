"""The steps of a catalogue run: each a pure core between two effects."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl
from prefect import task
from prefect.logging import get_run_logger

from db import catalogue, feeds, shelf
from db.catalogue import Observation
from db.engine import Connection, Row, session_errors, transaction
from db.enums import Stage
from tasks import exclusive, files, policy, progress
from tasks.catalogue import load
from tasks.catalogue.access import remote_of
from tasks.catalogue.config import DEFAULT_MAX_BYTES, DEFAULT_MAX_ROWS
from tasks.catalogue.diff import STATE
from tasks.catalogue.freshness import LastFile, SkipReason, unchanged_by_hash, unchanged_by_stat
from tasks.catalogue.registry import PIPELINE, find_feed
from tasks.exclusive import exclusive_run
from tasks.fetching import Fetching
from tasks.keyring import check_key
from tasks.run import Pipeline, Run, Start, Target
from tasks.steps import live_task_options, log_event, shown_as_busy
from tasks.transport import Download, RemoteStat, open_retriever

_LIVE = live_task_options(policy.CATALOGUE)


@dataclass(frozen=True)
class FetchedFile:
    """The file of a run on disk, or why it need not be read."""

    path: Path | None = None
    unchanged: SkipReason | None = None


@contextmanager
def catalogue_run(feed_key: str, start: Start) -> Iterator[tuple[Run, Path]]:
    """A run of the feed under its lock, and a folder of its own."""
    with (
        exclusive_run(CATALOGUE, feed_key, start) as run,
        shown_as_busy(PIPELINE, feed_key),
        files.work_folder() as folder,
    ):
        yield run, folder


def _find(conn: Connection, key: str) -> Target:
    feed = find_feed(conn, key)
    check_key(feed)
    return Target(str(feed["source_id"]), feed["last_stamp_at"], feed)


def _on_start(run: Run) -> None:
    catalogue.insert_catalogue_run(run.conn, run.id, run.target.details)
    feeds.mark_stamp(run.conn, run.target.details["source_id"], run.started_at)


def _on_failure(run: Run) -> None:
    catalogue.update_partial_figures(run.conn, run.id)


CATALOGUE = Pipeline(PIPELINE, policy.CATALOGUE, find=_find, on_start=_on_start, on_failure=_on_failure)


@task(name="fetch-file", **_LIVE)
def fetch_file(run: Run, folder: Path, *, force: bool = False) -> FetchedFile:
    """Bring the remote file to disk, or say why it need not be read."""
    last = LastFile() if force else _last_file(run.target.details)
    run.fetched = run.fetched or _fetch(run, folder, last)  # an attempt after the fetch uses the file on disk
    if isinstance(run.fetched, RemoteStat):
        _remember(run, run.fetched, download=None)
        log_event("DOWNLOAD_SKIPPED_UNCHANGED", reason=SkipReason.UNCHANGED_MTIME)
        return FetchedFile(unchanged=SkipReason.UNCHANGED_MTIME)
    download: Download = run.fetched
    _remember(run, download.stat, download=download)
    log_event("DOWNLOAD_COMPLETE", run_id=run.id, bytes=download.size_bytes, hash=download.sha256)
    return FetchedFile(download.path, unchanged_by_hash(last, download.sha256))


def _fetch(run: Run, folder: Path, last: LastFile) -> Download | RemoteStat:
    """The whole file on disk; or only what the server says of it, if that is what it said last time."""
    feed = run.target.details
    log_event("DOWNLOAD_START", **{name: feed[name] for name in ("host", "port", "path", "transport")})
    with open_retriever(remote_of(feed)) as retriever:
        seen = retriever.stat()
        log_event("FILE_STAT", remote_mtime=seen.modified_at, remote_size=seen.size)
        if unchanged_by_stat(last, modified_at=seen.modified_at, size=seen.size):
            return seen
        limit = feed["max_file_size_bytes"] or DEFAULT_MAX_BYTES
        return retriever.download(folder / "feed", max_bytes=limit, on_progress=Fetching(run))


def _last_file(feed: Row) -> LastFile:
    return LastFile(feed["last_remote_mtime"], feed["last_remote_size"], feed["last_content_hash"])


def _remember(run: Run, seen: RemoteStat, *, download: Download | None) -> None:
    file = {
        "download_bytes": download.size_bytes if download else None,
        "content_hash": download.sha256 if download else None,
        "remote_mtime": seen.modified_at,
        "remote_size": seen.size,
    }
    with transaction(run.conn):
        catalogue.update_file_of_run(run.conn, run.id, file)


@task(name="load-file", **_LIVE)
def load_file(run: Run, path: Path) -> Observation:
    """Write what the file changes, batch by batch; nobody sees it before promotion."""
    feed = run.target.details
    run.enter(Stage.DOCUMENTS)
    loaded = load.read_file(path, max_rows=feed["max_row_count"] or DEFAULT_MAX_ROWS)
    with transaction(run.conn):
        seen = catalogue.mark_observation(run.conn, feed["source_id"], run.id, at=run.now())
    with session_errors(run.conn):
        state = catalogue.copy_state(run.conn, feed["source_id"], STATE)
    heartbeat = feed["heartbeat_hours"]
    products = load.changes(loaded, state, now=seen.observed_at, heartbeat_hours=heartbeat)
    changed = _write(run, seen, products)
    with transaction(run.conn):
        catalogue.insert_run_errors(run.conn, run.id, loaded.samples, now=seen.observed_at)
        catalogue.update_figures(run.conn, run.id, _figures(loaded, changed))
    get_run_logger().info("loaded run_id=%s rows=%s", run.id, loaded.rows_read)
    return seen


def _write(run: Run, seen: Observation, products: pl.DataFrame) -> int:
    """Batches committed one by one; the number of products whose attributes changed."""
    with session_errors(run.conn):
        catalogue.create_staged_rows(run.conn)
    changed = done = 0
    for batch_no, batch in enumerate(load.batches(products), start=1):
        with transaction(run.conn):
            new_ids, changed_here = catalogue.write_batch(run.conn, seen, load.writes(batch))
            known = batch["product_id"].drop_nulls().to_list()
            catalogue.insert_sighting(run.conn, seen, batch_no=batch_no, product_ids=[*known, *new_ids])
        changed += changed_here
        done += batch.height
        progress.report("writing", done, products.height)
    return changed


def _figures(loaded: load.Loaded, changed: int) -> dict[str, Any]:
    """All but what the batches counted themselves."""
    return {
        "rows_read": loaded.rows_read,
        "rows_parsed": loaded.rows_read - loaded.rejected,
        "products_upserted": loaded.products.height,
        "products_changed": changed,
        "products_rejected": loaded.rejected,
        "rejected_by_code": loaded.rejected_by_code,
        "duplicate_key_count": loaded.duplicates,
        "url_hash_fallback_count": loaded.url_hash_fallbacks,
        "detected": loaded.detected,
    }


@task(name="promote", **_LIVE)
def promote(run: Run, seen: Observation) -> None:
    """Put what the run saw on the shelf and close the run, in one transaction."""
    run.enter(Stage.SUMMARY)
    at = max(run.now(), seen.observed_at)
    with transaction(run.conn):
        shelf.create_seen_set(run.conn, seen)
        counts = shelf.count_changes(run.conn, seen.source_id)
        shelf.fold(run.conn, seen)
        seq = shelf.promote(run.conn, seen, promoted_at=at)
        shelf.mark_promoted(run.conn, seen, counts, seq=seq)
        catalogue.mark_last_file(run.conn, run.id)
        feeds.mark_stamp(run.conn, seen.source_id, at)
        exclusive.succeed(run, at=at)
    run.is_closed = True


@task(name="skip", **_LIVE)
def skip(run: Run, reason: SkipReason) -> None:
    """Close a run that found nothing new; it touches neither products, prices nor presence."""
    at = run.now()
    with transaction(run.conn):
        catalogue.mark_skipped(run.conn, run.id, reason)
        feeds.mark_stamp(run.conn, run.target.details["source_id"], at)
        exclusive.succeed(run, at=at)
    run.is_closed = True
