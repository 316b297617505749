"""A look at a feed's file: what is found at each step of the way, and the first rows. It writes nothing."""

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import polars as pl

from db.enums import Transport
from tasks import files, plain_ftp
from tasks.catalogue import sample
from tasks.errors import FileTooLargeError, IngestError
from tasks.gzip_check import GZIP_MAGIC, verify_gzip
from tasks.network import Timeouts
from tasks.transport import INFLATED_PER_BYTE, Remote, RemoteStat, open_retriever

PARSED_ROWS = 100
SHOWN_ROWS = 10
# A record is what it is by at most MOST_RECORD_BYTES behind its beginning, so that all that begin before the last
# MiB are read as in the whole file; in UTF-16 that is the first half MiB of text.
HEAD_BYTES = 3 * 1024 * 1024
_SHOWN = ("row_number", "impact_item_id", "sku", "title", "price", "currency", "url", "rejection")
_DEFAULT_TIMEOUTS = Timeouts()


@dataclass(frozen=True)
class Step:
    name: str
    is_ok: bool
    said: str


@dataclass
class Trial:
    """What was found so far. It is a success if no step failed and a row can be used."""

    steps: list[Step] = field(default_factory=list)
    detected: dict[str, Any] | None = None
    mapped: dict[str, list[str]] = field(default_factory=dict)
    unmapped: list[str] = field(default_factory=list)
    rows_detected: int = 0
    sample_rows: list[dict[str, Any]] = field(default_factory=list)
    errors: list[dict[str, Any]] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    failure: IngestError | None = None

    @property
    def is_success(self) -> bool:
        return self.failure is None and len(self.errors) < self.rows_detected

    def found(self, name: str, said: str) -> None:
        self.steps.append(Step(name, True, said))


@dataclass(frozen=True)
class Limits:
    max_bytes: int
    now: datetime


def try_file(remote: Remote, trial: Trial, limits: Limits, *, timeouts: Timeouts = _DEFAULT_TIMEOUTS) -> Trial:
    """Connect, look and read the first rows; a step that fails ends the trial and is told in it."""
    with files.work_folder() as folder:
        _step(trial, "connection", lambda: _look(remote, trial, limits, folder=folder, timeouts=timeouts))
    return trial


def _step(trial: Trial, name: str, act: Callable[[], None]) -> None:
    """An error that no step inside has told belongs to this one."""
    try:
        act()
    except IngestError as error:
        if trial.failure is None:
            trial.failure = error
            trial.steps.append(Step(name, False, error.message))


def _look(remote: Remote, trial: Trial, limits: Limits, *, folder: Path, timeouts: Timeouts) -> None:
    _warn_of(remote, trial)
    with open_retriever(remote, timeouts=timeouts) as retriever:
        if remote.transport is Transport.SFTP:
            trial.found("host key", f"{remote.host_key_fingerprint} is shown, as pinned")
        if remote.username:
            trial.found("login", f"accepted, by {'private key' if remote.private_key else 'password'}")
        _step(trial, "file", lambda: _find(retriever.stat(), trial, limits))
        if trial.failure is None:
            _step(trial, "file", lambda: _read(retriever.head(HEAD_BYTES + 1), trial, _Place(remote, limits, folder)))


def _warn_of(remote: Remote, trial: Trial) -> None:
    if remote.transport is Transport.FTP:
        trial.warnings.append(plain_ftp.WARNING)
    for name in remote.legacy_algorithms:
        trial.warnings.append(f"the old algorithm {name} is accepted from this server")


def _find(stat: RemoteStat, trial: Trial, limits: Limits) -> None:
    told = "the server does not tell"
    if stat.size is not None:
        if stat.size > limits.max_bytes:
            message = f"the file has {stat.size:,} bytes, more than the {limits.max_bytes:,} that this feed allows"
            raise FileTooLargeError(message)
        trial.found("file", "found")
    trial.found("size", f"{stat.size:,} bytes" if stat.size is not None else told)
    trial.found("age", _age(limits.now - stat.modified_at) if stat.modified_at else told)


def _age(age: timedelta) -> str:
    hours = int(age.total_seconds() // 3600)
    if hours < 0:
        return "dated in the future"
    return f"{hours // 24} days" if hours >= 48 else f"{hours} h" if hours else "less than an hour"


@dataclass(frozen=True)
class _Place:
    """Where a file comes from, how much of it is allowed, and where its beginning is kept meanwhile."""

    remote: Remote
    limits: Limits
    folder: Path

    def keep(self, data: bytes) -> Path:
        path = self.folder / "sample"
        with files.open_for_write(path) as file:
            file.write(data)
        return path


def _read(head: bytes, trial: Trial, place: _Place) -> None:
    """One byte more than HEAD_BYTES tells that there is more."""
    is_gzip = head[:2] == GZIP_MAGIC
    trial.found("gzip", "yes" if is_gzip else "no")
    if place.remote.path.endswith(".gz") and not is_gzip:
        trial.warnings.append("the name ends in .gz, but the file is not gzip; its bytes count, not its name")
    found = sample.Beginning(head, is_whole=len(head) <= HEAD_BYTES)
    if is_gzip:
        found = _inflated(found, place)
    path = place.keep(found.data)
    _step(trial, "format", lambda: _parse(path, trial, is_whole=found.is_whole, is_gzip=is_gzip))


def _inflated(found: sample.Beginning, place: _Place) -> sample.Beginning:
    """The text of a gzip file; of a file that is here to its end, refuses what a fetch refuses."""
    if found.is_whole:
        most = place.limits.max_bytes * INFLATED_PER_BYTE
        verify_gzip(place.keep(found.data), address=place.remote.address, max_bytes=most)
    return sample.inflated(found)


def _parse(path: Path, trial: Trial, *, is_whole: bool, is_gzip: bool) -> None:
    first = sample.first_rows(path, most=PARSED_ROWS, is_whole=is_whole)
    trial.detected = {**first.detected, "compression": "GZIP" if is_gzip else "NONE"}
    trial.mapped, trial.unmapped = first.mapped, first.unmapped
    trial.found("encoding", first.detected["encoding"])
    trial.found("delimiter", repr(first.detected["delimiter"]))
    trial.found("columns", f"{len(first.mapped)} mapped, {len(first.unmapped)} not")
    _judge(first.rows, trial)


def _judge(rows: pl.DataFrame, trial: Trial) -> None:
    rejected = rows.filter(pl.col("rejection").is_not_null())
    trial.rows_detected = rows.height
    trial.sample_rows = rows.head(SHOWN_ROWS).select(_SHOWN).to_dicts()
    trial.errors = rejected.select("row_number", code="rejection").to_dicts()
    nameless = rows.filter(pl.col("impact_item_id").is_null() & pl.col("sku").is_null()).height
    if nameless:
        trial.warnings.append(f"{nameless} rows have neither item id nor SKU; their address will identify them")
    said = f"the first {rows.height} parsed, {rejected.height} rejected"
    trial.steps.append(Step("rows", rejected.height < rows.height, said))
