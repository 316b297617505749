"""Where things go wrong: a connection whose commits can fail or be lost, and a file that cannot be read."""

import errno
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

import psycopg
from psycopg.pq import TransactionStatus

from db.sql import load_sql
from tests.model.history import Fault

INJECTED = "injected"

# A transaction is known by a statement that only it holds.
_PLACES = {
    load_sql("catalogue/insert_sighting"): "batch",
    load_sql("catalogue/update_figures"): "figures",
    load_sql("ledger/mark_success"): "settle",
}


class Script:
    """The faults of a run in their order, and what to do at each committed batch."""

    def __init__(self) -> None:
        self.faults: list[Fault] = []
        self.batches = 0
        self.on_batch = lambda: None

    def load(self, faults: tuple[Fault, ...], on_batch: Any) -> None:
        self.faults, self.batches, self.on_batch = list(faults), 0, on_batch

    def begin_attempt(self) -> None:
        self.batches = 0

    def due(self, place: str, when: str) -> Fault | None:
        """The fault that comes now, if one does; once."""
        if not self.faults:
            return None
        fault = self.faults[0]
        here = (fault.place, fault.when) == (place, when) and (place != "batch" or fault.batch == self.batches)
        return self.faults.pop(0) if here else None


class FaultyConnection(psycopg.Connection[Any]):
    """A session that the next run may take over, as long as nothing broke it: connecting costs more than a run."""

    script: Script
    _place: str | None = None

    def execute(self, query: Any, *args: Any, **options: Any) -> Any:
        self._place = _PLACES.get(query, self._place)
        return super().execute(query, *args, **options)

    @contextmanager
    def transaction(self, *args: Any, **options: Any) -> Iterator[Any]:
        if self.info.transaction_status != TransactionStatus.IDLE:  # within another one
            with super().transaction(*args, **options) as inner:
                yield inner
            return
        self._place = None
        with super().transaction(*args, **options) as outer:
            yield outer
            place = self._place
            self.script.batches += place == "batch"
            self._reach(place, "before")
        if place == "batch":
            self.script.on_batch()
        self._reach(place, "after")

    def _reach(self, place: str | None, when: str) -> None:
        fault = self.script.due(place or "", when)
        if fault is not None:
            if fault.kind == "crash":
                self.close()
            raise _ERRORS[fault.kind](INJECTED)

    def __exit__(self, *_error: Any) -> None:
        if not self.closed:
            self.rollback()
            self.execute("SELECT pg_advisory_unlock_all()")


_ERRORS = {
    "error": psycopg.OperationalError,
    "crash": psycopg.OperationalError,
    "refused": psycopg.IntegrityError,
    "cancel": KeyboardInterrupt,
}


def faulty_read(script: Script, connection: Any, opened: Any, path: Path) -> BinaryIO:
    """Opens the file, or does what the script has for the fetch."""
    fault = script.due("fetch", "before")
    if fault is None:
        return opened(path)
    if fault.kind == "crash":
        connection().close()
    if fault.kind == "cancel":
        raise KeyboardInterrupt
    if fault.kind == "refused":
        raise PermissionError(errno.EACCES, INJECTED)
    raise OSError(errno.EIO, INJECTED)
