"""The steps of a catalogue run: each a pure core between two effects."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl
from prefect import task
from prefect.logging import get_run_logger

from db import catalogue, feeds
from db.catalogue import Observation
from db.engine import Connection, Row, ping, session_errors, transaction
from db.enums import Stage, Transport
from tasks import exclusive, files, policy, progress, secrets
from tasks.catalogue import load
from tasks.catalogue.config import DEFAULT_MAX_BYTES, DEFAULT_MAX_ROWS
from tasks.catalogue.diff import STATE
from tasks.catalogue.freshness import LastFile, SkipReason, unchanged_by_hash, unchanged_by_stat
from tasks.catalogue.registry import PIPELINE, find_feed
from tasks.exclusive import exclusive_run
from tasks.run import Pipeline, Run, Start, Target
from tasks.steps import live_task_options, shown_as_busy
from tasks.transport import Download, Remote, RemoteStat, open_retriever

_LIVE = live_task_options(policy.CATALOGUE)
_ASK_SECONDS = 60


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
    feed = run.target.details
    last = LastFile() if force else _last_file(feed)
    with open_retriever(_remote(feed)) as retriever:
        seen = retriever.stat()
        unchanged = unchanged_by_stat(last, modified_at=seen.modified_at, size=seen.size)
        if unchanged:
            _remember(run, seen, download=None)
            return FetchedFile(unchanged=unchanged)
        limit = feed["max_file_size_bytes"] or DEFAULT_MAX_BYTES
        download = retriever.download(folder / "feed", max_bytes=limit, on_progress=_Fetching(run))
    _remember(run, download.stat, download=download)
    get_run_logger().info("fetched run_id=%s bytes=%s", run.id, download.size_bytes)
    return FetchedFile(download.path, unchanged_by_hash(last, download.sha256))


class _Fetching:
    """Tells how far a fetch is, and once a minute asks the server whether our session, and so our lock, still lives."""

    def __init__(self, run: Run) -> None:
        self._run = run
        self._asked_at = time.monotonic()

    def __call__(self, done: int, total: int | None) -> None:
        progress.report("fetching", done, total)
        if time.monotonic() - self._asked_at > _ASK_SECONDS:
            with session_errors(self._run.conn):
                ping(self._run.conn)
            self._asked_at = time.monotonic()


def _last_file(feed: Row) -> LastFile:
    return LastFile(feed["last_remote_mtime"], feed["last_remote_size"], feed["last_content_hash"])


def _remote(feed: Row) -> Remote:
    """The address with the password in it: made here, just before connecting, and kept nowhere."""
    password = None
    if feed["secret_ciphertext"] is not None:
        version = feed["secret_version"]
        key = secrets.load_key()
        password = secrets.decrypt_secret(
            feed["secret_ciphertext"], feed_id=feed["id"], secret_version=version, key=key
        )
    names = ("host", "port", "path", "username", "host_key_fingerprint")
    return Remote(Transport(feed["transport"]), password=password, **{name: feed[name] for name in names})


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


@task(name="skip", **_LIVE)
def skip(run: Run, reason: SkipReason) -> None:
    """Close a run that found nothing new; it touches neither products, prices nor presence."""
    at = run.now()
    with transaction(run.conn):
        catalogue.mark_skipped(run.conn, run.id, reason)
        feeds.mark_stamp(run.conn, run.target.details["source_id"], at)
        exclusive.succeed(run, at=at)
    run.is_closed = True
