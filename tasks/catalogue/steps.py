"""The steps of a catalogue run: each a pure core between two effects."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from uuid import UUID

import polars as pl
from prefect import task
from prefect.logging import get_run_logger

from db import catalogue, feeds, shelf
from db.archive import mark_artifact
from db.catalogue import Observation
from db.engine import Connection, Row, session_errors, transaction
from db.enums import IdentityType, Stage, UnchangedPolicy
from tasks import exclusive, files, policy, progress, store
from tasks.ahead import Ahead
from tasks.catalogue import breaker, diff, identity, load
from tasks.catalogue.access import limits_of, max_bytes_of, remote_of
from tasks.catalogue.archive import find_archived, open_archive
from tasks.catalogue.fingerprints import FINGERPRINT_VERSION
from tasks.catalogue.freshness import LastFile, SkipReason, unchanged_by_hash, unchanged_by_stat
from tasks.catalogue.parse import ROW
from tasks.catalogue.plan import Basis, digest_of
from tasks.catalogue.registry import PIPELINE, find_feed
from tasks.catalogue.samples import MEANINGS, SAMPLES_PER_CODE, UPGRADE
from tasks.catalogue.survey import Survey, survey_file
from tasks.errors import PlanChangedError
from tasks.exclusive import exclusive_run
from tasks.fetching import Fetching
from tasks.keyring import check_key
from tasks.run import Pipeline, Run, Start, Target
from tasks.steps import live_task_options, log_event, shown_as_busy
from tasks.transport import Download, RemoteStat, open_retriever

_LIVE = live_task_options(policy.CATALOGUE)

PLAN, REPLAY = "plan", "replay"  # what a job may ask for: to keep to a plan's digest, to process a run's file again


@dataclass(frozen=True)
class FetchedFile:
    """The file of a run on disk, or why it need not be read."""

    path: Path | None = None
    unchanged: SkipReason | None = None
    sha256: str = ""
    size_bytes: int = 0


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
    asked = {"plan_digest": run.parameters.get(PLAN), "replayed_from": run.parameters.get(REPLAY)}
    catalogue.insert_catalogue_run(run.conn, run.id, run.target.details, **asked)
    feeds.mark_stamp(run.conn, run.target.details["source_id"], run.started_at)


def _on_failure(run: Run) -> None:
    catalogue.update_partial_figures(run.conn, run.id)


CATALOGUE = Pipeline(PIPELINE, policy.CATALOGUE, find=_find, on_start=_on_start, on_failure=_on_failure)


@task(name="fetch-file", **_LIVE)
def fetch_file(run: Run, folder: Path, *, force: bool = False) -> FetchedFile:
    """Bring the file to disk, from its server or for a replay from the archive; or say why it need not be read."""
    last = LastFile() if force or {PLAN, REPLAY} & run.parameters.keys() else _last_file(run.target.details)
    run.fetched = run.fetched or _fetch(run, folder, last)  # an attempt after the fetch uses the file on disk
    if isinstance(run.fetched, RemoteStat):
        _remember(run, run.fetched, download=None)
        log_event("DOWNLOAD_SKIPPED_UNCHANGED", reason=SkipReason.UNCHANGED_MTIME)
        return FetchedFile(unchanged=SkipReason.UNCHANGED_MTIME)
    download: Download = run.fetched
    _remember(run, download.stat, download=download)
    log_event("DOWNLOAD_COMPLETE", run_id=run.id, bytes=download.size_bytes, hash=download.sha256)
    unchanged = unchanged_by_hash(last, download.sha256)
    return FetchedFile(download.path, unchanged, sha256=download.sha256, size_bytes=download.size_bytes)


@task(name="keep-file", **_LIVE)
def keep_file(run: Run, file: FetchedFile) -> None:
    """Put the file into the archive, unless it is there, before anything is made of it."""
    if file.path is None:
        message = "there is no file to keep"
        raise AssertionError(message)
    archive = open_archive()
    if not archive.has(file.sha256, file.size_bytes):
        archive.put(file.path, file.sha256)
    with transaction(run.conn):
        mark_artifact(run.conn, run.id, archive.url(file.sha256))


def _fetch(run: Run, folder: Path, last: LastFile) -> Download | RemoteStat:
    """The whole file on disk; or only what the server says of it, if that is what it said last time."""
    feed, target = run.target.details, folder / "feed"
    if REPLAY in run.parameters:
        return _fetch_archived(run, target, UUID(run.parameters[REPLAY]))
    log_event("DOWNLOAD_START", **{name: feed[name] for name in ("host", "port", "path", "transport")})
    with open_retriever(remote_of(feed)) as retriever:
        seen = retriever.stat()
        log_event("FILE_STAT", remote_mtime=seen.modified_at, remote_size=seen.size)
        if unchanged_by_stat(last, modified_at=seen.modified_at, size=seen.size):
            return seen
        return retriever.download(target, max_bytes=max_bytes_of(feed), on_progress=Fetching(run))


def _fetch_archived(run: Run, target: Path, replayed: UUID) -> Download:
    with session_errors(run.conn):
        sha256 = find_archived(run.conn, replayed)["content_hash"]
    size = store.fetch(open_archive(), sha256, target)
    return Download(target, sha256, size, RemoteStat(None, None))


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
    with ThreadPoolExecutor(1, thread_name_prefix="read-state") as reader:  # while the file is read
        coming = reader.submit(_state, run)
        surveyed = survey_file(
            path, limits_of(feed), max_products=feed["max_product_count"], on_rows=progress.report_rows
        )
    state = coming.result()
    if PLAN in run.parameters:
        _refuse_other_plan(run, surveyed, state)
    with transaction(run.conn):
        seen = catalogue.mark_observation(run.conn, feed["source_id"], run.id, at=run.now())
    heartbeat = feed["heartbeat_hours"]
    products = diff.with_changes(surveyed.products, state, now=seen.observed_at, heartbeat_hours=heartbeat)
    written = _write(run, seen, load.batches(products, surveyed.reading), state=state, total=products.height)
    with transaction(run.conn):
        samples = [*surveyed.samples, *written.upgrades]
        catalogue.insert_run_errors(run.conn, run.id, samples, now=seen.observed_at)
        catalogue.update_figures(run.conn, run.id, _figures(surveyed, written))
        _note_findings(run, seen, surveyed, written)
    get_run_logger().info("loaded run_id=%s rows=%s", run.id, surveyed.rows_read)
    return seen


def _refuse_other_plan(run: Run, surveyed: Survey, state: pl.DataFrame) -> None:
    """Whoever asked for this run has seen what it will do. Asked before the first attempt writes; a further one goes on
    with the same file under the same lock, and finds what the first has written."""
    feed = run.target.details
    with session_errors(run.conn):
        record = catalogue.select_run(run.conn, run.key.tenant_id, run.id) or {}
        newest = shelf.select_newest_seq(run.conn, feed["source_id"])
    basis = Basis(record["content_hash"], newest, breaker.limits_of(feed["gates"]))
    if record["obs_seq"] is None and digest_of(surveyed.products, state, basis) != run.parameters[PLAN]:
        raise PlanChangedError


def _state(run: Run) -> pl.DataFrame:
    source_id = run.target.details["source_id"]
    with session_errors(run.conn):
        return catalogue.copy_state(run.conn, source_id, diff.state_schema(), fingerprint_version=FINGERPRINT_VERSION)


@dataclass
class _Written:
    """What the batches did beside what they counted themselves."""

    changed: int = 0
    upgraded: int = 0
    upgrades: list[dict[str, Any]] = field(default_factory=list)


def _write(run: Run, seen: Observation, batches: Iterator[load.Batch], *, state: pl.DataFrame, total: int) -> _Written:
    """Batches committed one by one."""
    written, done = _Written(), 0
    lesser = state.filter(pl.col("identity_type") != IdentityType.IMPACT_ITEM_ID.value)
    with session_errors(run.conn):
        catalogue.create_staged_prices(run.conn)
    with Ahead(batches) as ready:  # the next one is made while the database writes this one
        for batch_no, batch in enumerate(ready, start=1):
            with transaction(run.conn):
                written.changed += _write_batch(run.conn, seen, batch, batch_no=batch_no)
            if lesser.height and batch.new.height:
                _note_upgrades(written, identity.upgrades(batch.new, lesser))
            done += batch.seen.height
            progress.report("writing", done, total)
    return written


def _write_batch(conn: Connection, seen: Observation, batch: load.Batch, *, batch_no: int) -> int:
    """How many products changed."""
    catalogue.relax_commit(conn)
    changed = prices = 0
    seen_ids = batch.seen["product_id"].drop_nulls()
    if batch.new.height:
        new_ids = catalogue.copy_products(conn, seen, batch.new)
        prices += catalogue.copy_prices(conn, seen, load.first_prices(batch, new_ids))
        seen_ids = pl.concat([seen_ids, new_ids])
    if batch.changed.height:
        changed = catalogue.copy_product_changes(conn, seen, batch.changed)
    prices += catalogue.append_prices(conn, seen, batch.prices.filter(pl.col("product_id").is_not_null()))
    catalogue.insert_sighting(conn, seen, batch_no=batch_no, product_ids=seen_ids)
    catalogue.add_counts(conn, seen.run_id, created=batch.new.height, prices=prices)
    return changed


def _note_upgrades(written: _Written, found: pl.DataFrame) -> None:
    written.upgraded += found.height
    for row in found.head(SAMPLES_PER_CODE - len(written.upgrades)).iter_rows(named=True):
        said = f"{row['old_type']} {row['old_value']} -> {row['identity_type']} {row['identity_value']}"
        sample = {"code": UPGRADE, "message": MEANINGS[UPGRADE], "row_number": row[ROW], "raw_row": said}
        written.upgrades.append(sample)


def _note_findings(run: Run, seen: Observation, surveyed: Survey, written: _Written) -> None:
    at = seen.observed_at
    total = {"total_rows": surveyed.rows_read, "skipped_rows": surveyed.rejected}
    run.note("PARSE_COMPLETE", at=at, parsed_rows=surveyed.rows_read - surveyed.rejected, **total)
    if written.upgraded:
        run.note("IDENTITY_UPGRADE_DETECTED", at=at, count=written.upgraded)
    if surveyed.url_hash_fallbacks:
        run.note("URL_HASH_FALLBACK", at=at, count=surveyed.url_hash_fallbacks)


def _figures(surveyed: Survey, written: _Written) -> dict[str, Any]:
    """All but what the batches counted themselves."""
    return {
        "rows_read": surveyed.rows_read,
        "rows_parsed": surveyed.rows_read - surveyed.rejected,
        "inflated_bytes": surveyed.inflated_bytes,
        "products_upserted": surveyed.products.height,
        "products_changed": written.changed,
        "products_rejected": surveyed.rejected,
        "rejected_by_code": surveyed.rejected_by_code,
        "duplicate_key_count": surveyed.duplicates,
        "url_hash_fallback_count": surveyed.url_hash_fallbacks,
        "products_in_stock": surveyed.in_stock,
        "detected": surveyed.reading.document(),
    }


@task(name="skip", **_LIVE)
def skip(run: Run, reason: SkipReason) -> None:
    """Close a run that found nothing new; it touches neither products, prices nor presence.

    For a feed whose unchanged file counts as seen again, the last promotion is repeated, if its file was that one.
    """
    feed, at = run.target.details, run.now()
    refreshes = feed["unchanged_policy"] == UnchangedPolicy.REFRESH
    with transaction(run.conn):
        seq = shelf.repeat_promotion(run.conn, feed["source_id"], run.id, at=at) if refreshes else None
        catalogue.mark_skipped(run.conn, run.id, reason, seq=seq)
        run.note("DOWNLOAD_SKIPPED_UNCHANGED", at=at, reason=reason, hash=feed["last_content_hash"])
        feeds.mark_stamp(run.conn, feed["source_id"], at)
        exclusive.succeed(run, at=at)
    run.is_closed = True
