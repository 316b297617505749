"""The archive: each file that a run is about to process, as delivered, for thirty days after its last use."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from db import archive as statements
from db import catalogue, home
from db.engine import Connection, Row
from db.errors import BadRequestError, RefusedError
from tasks import store
from tasks.errors import ArchiveGoneError
from tasks.store import Kept, Store

RETENTION = timedelta(days=30)
_UNFINISHED = timedelta(days=1)  # a file that is still being written is younger


def open_archive() -> Store:
    """`FEEDMILL_ARCHIVE_URL`, else a folder of the home."""
    return store.open_store(home.archive_url(), home.home() / "archive")


def find_archived(conn: Connection, run_id: UUID) -> Row:
    """The record of a run whose file can be processed again; refuses one that kept none, or whose file is gone."""
    tenant_id = catalogue.select_tenant_of_run(conn, run_id)
    run = catalogue.select_run(conn, tenant_id, run_id) if tenant_id else None
    if run is None:
        message = f"there is no run {str(run_id)!r}"
        raise BadRequestError(message, code="RUN_NOT_FOUND", hint="see the runs with: feedmill runs")
    if run["artifact_url"] is None:
        message = f"the run {run_id} kept no file: it processed none"
        raise RefusedError(message, code="NOTHING_ARCHIVED", hint=f"see it with: feedmill run-show {run_id}")
    if not open_archive().has(run["content_hash"]):
        message = f"the file of the run {run_id} is not in the archive any more ({run['artifact_url']})"
        raise ArchiveGoneError(message)
    return run


@dataclass(frozen=True)
class Swept:
    """How many files a clean-up of the archive removed, and how many it left."""

    removed: int = 0
    kept: int = 0


def sweep_archive(conn: Connection, *, now: datetime) -> Swept:
    """Remove the files that were put here, and last used by a run, more than thirty days ago."""
    archive = open_archive()
    found = list(archive.kept())
    old = {file.name: file for file in found if now - file.modified_at > _age_limit(file)}
    hashes = [file.sha256 for file in old.values() if file.sha256]
    used = statements.select_used_hashes(conn, hashes, since=now - RETENTION)
    for name in [name for name, file in old.items() if file.sha256 in used]:
        del old[name]
    for name in old:
        archive.remove(name)
    return Swept(len(old), len(found) - len(old))


def _age_limit(file: Kept) -> timedelta:
    return RETENTION if file.sha256 else _UNFINISHED
