"""Plays a history on the real engine and a real Postgres, without Prefect's API: steps, retried as Prefect would."""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from functools import partial
from hashlib import sha256
from itertools import count
from pathlib import Path
from typing import Any
from uuid import UUID

from prefect.logging import disable_run_logger
from prefect.tasks import Task
from psycopg.rows import dict_row

from db import engine
from db.clock import Clock
from db.engine import Connection
from db.enums import Recovery
from db.errors import FeedmillError
from tasks import files, ledger, policy
from tasks.catalogue import approval, config, load, registry, steps, switches
from tasks.catalogue.shelf.steps import settle
from tasks.errors import classify
from tasks.exclusive import exclusive_run
from tasks.run import Run as LiveRun
from tasks.run import Start
from tests.model.books import KEPT_DAYS, START, File
from tests.model.faults import FaultyConnection, Script, faulty_read
from tests.model.history import Line, Run, text_of

_numbers = count(1)
_SWITCHES = {"pause": switches.PAUSE, "resume": switches.RESUME, "reenable": switches.REENABLE}
_POLICIES = ledger.Policies({"catalogue": policy.CATALOGUE})


class HandClock(Clock):
    """A clock that stands where a test puts it; like the machine's it may step back."""

    def __init__(self, hand: list[datetime]) -> None:
        object.__setattr__(self, "at", None)
        object.__setattr__(self, "hand", hand)

    def now(self) -> datetime:
        return self.hand[0]


class World:
    """One database, and the doors to it that tests may shut."""

    def __init__(self, url: str, folder: Path, monkeypatch: Any) -> None:
        self.url, self.folder, self.monkeypatch = url, folder, monkeypatch
        self.reader = engine.open_connection(url)
        self.script = Script()
        self.session: FaultyConnection | None = None
        monkeypatch.setattr(engine, "connect", self.connect)
        monkeypatch.setattr(approval, "connect", self.connect)
        monkeypatch.setattr(files, "open_for_read", self.open_for_read(files.open_for_read))
        self.path = folder / "catalog.csv"

    def connect(self, *, any_schema: bool = False) -> Connection:
        if self.session is None or self.session.closed:
            options = {"autocommit": True, "row_factory": dict_row, "options": "-c timezone=UTC"}
            self.session = FaultyConnection.connect(self.url, **options)
            self.session.script = self.script
        return self.session

    def open_for_read(self, opened: Callable[[Path], Any]) -> Callable[[Path], Any]:
        faulty = partial(faulty_read, self.script, self.connect, opened)
        return lambda path: faulty(path) if path == self.path else opened(path)

    def close(self) -> None:
        self.reader.close()
        if self.session is not None:
            self.session.close()


class Driver:
    """A new feed in the world, and what is done to it."""

    def __init__(self, world: World) -> None:
        self.world, self.conn = world, world.reader
        self.hand = [START]
        self.actor = registry.Actor("test", HandClock(self.hand))
        self.key = f"feed-{next(_numbers)}"
        self.runs: list[UUID] = []
        feed = self._add(self.key, is_primary=True)
        self.source_id, self.lock_id = feed["source_id"], feed["feed_lock_id"]
        self.has_rival = False
        self.lose()

    def _add(self, key: str, *, is_primary: bool) -> Any:
        settings = registry.FeedSettings(address=config.parse_address(self.world.path.as_uri()))
        retailer = f"Shop of {self.key}"
        new = registry.NewFeed(key, "default", retailer, settings, is_enabled=True, is_primary=is_primary)
        return registry.add_feed(self.conn, new, self.actor)

    def deliver(self, lines: tuple[Line, ...]) -> File:
        text = text_of(lines).encode()
        self.world.path.write_bytes(text)
        return File(lines, self.touch(), len(text), sha256(text).hexdigest())

    def lose(self) -> None:
        self.world.path.unlink(missing_ok=True)

    def touch(self) -> datetime:
        """A date that no file had before."""
        moment = START + timedelta(seconds=next(_numbers))
        os.utime(self.world.path, (moment.timestamp(), moment.timestamp()))
        return moment

    def run(self, step: Run) -> None:
        script, lag = self.world.script, timedelta(hours=step.lag)
        script.load(step.faults, lambda: self._move(lag))
        self.world.monkeypatch.setattr(load, "BATCH_ROWS", step.batch_rows)
        start = Start(clock=HandClock(self.hand), actor="test")
        try:
            with exclusive_run(steps.CATALOGUE, self.key, start) as run, disable_run_logger():
                self._steps(run, step)
        finally:
            script.load((), lambda: None)
            self._wait_until_free()
            self._note_runs()

    def _steps(self, run: LiveRun, step: Run) -> None:
        file = tried(steps.fetch_file, run, self.world.folder, force=step.force)
        if file.unchanged:
            tried(steps.skip, run, file.unchanged)
            return
        seen = tried(steps.load_file, run, file.path, before=self.world.script.begin_attempt)
        if step.expiry_meanwhile is not None:
            self.change("expiry_hours", step.expiry_meanwhile)
        tried(settle, run, seen)

    def _move(self, by: timedelta) -> None:
        self.hand[0] += by

    def _wait_until_free(self) -> None:
        """A session that was closed lets go of its lock a moment later."""
        self.conn.execute("SELECT pg_advisory_lock(%s), pg_advisory_unlock(%s)", [self.lock_id, self.lock_id])

    def _note_runs(self) -> None:
        ids = self.conn.execute("SELECT id FROM ingestion_runs WHERE key = %s ORDER BY id", [self.key])
        self.runs.extend(row["id"] for row in ids.fetchall() if row["id"] not in self.runs)

    def reap(self) -> None:
        ledger.reap(self.conn, _POLICIES, now=self.hand[0])

    def change(self, setting: str, value: int | str) -> None:
        registry.change_feed(self.conn, self.key, {setting: value}, self.actor)

    def set_primary(self, *, this: bool) -> None:
        rival = f"{self.key}-rival"
        if not this and not self.has_rival:
            self._add(rival, is_primary=True)
            self.has_rival = True
            return
        switches.choose_primary(self.conn, self.key if this else rival, self.actor)

    def switch(self, name: str) -> None:
        switches.turn(self.conn, self.key, _SWITCHES[name], self.actor)

    def remove(self) -> None:
        registry.remove_feed(self.conn, self.key, self.actor)

    def approve(self, run_id: UUID) -> None:
        approval.approve(run_id, self.actor)

    def reject(self, run_id: UUID) -> None:
        approval.reject(run_id, "not this one", self.actor)

    def clean_up(self) -> None:
        """As the daily clean-up does it: the record goes, and what hangs on it."""
        cutoff = self.hand[0] - timedelta(days=KEPT_DAYS)
        old = "DELETE FROM ingestion_runs WHERE key = %s AND started_at < %s AND finished_at IS NOT NULL"
        self.conn.execute(old, [self.key, cutoff])


def tried(step: Task[..., Any], *args: Any, before: Callable[[], None] = lambda: None, **options: Any) -> Any:
    """What the step returns, tried again as Prefect would."""
    last = step.retries + 1
    for attempt in range(1, last + 1):
        before()
        try:
            with _counted(attempt):
                return step.fn(*args, **options)
        except Exception as error:
            if attempt == last or classify(error) is not Recovery.TRANSIENT:
                raise
    return None


@contextmanager
def _counted(attempt: int) -> Iterator[None]:
    """A step may ask Prefect which attempt it is; Prefect answers from here first."""
    os.environ[_RUN_COUNT] = str(attempt)
    try:
        yield
    finally:
        del os.environ[_RUN_COUNT]


_RUN_COUNT = "PREFECT__RUNTIME__TASK_RUN__RUN_COUNT"


@contextmanager
def refusals() -> Iterator[list[str]]:
    """The code of what the engine refused, or of the error that a run ended with."""
    found: list[str] = []
    try:
        yield found
    except FeedmillError as error:
        found.append(error.code)
    except KeyboardInterrupt:
        found.append("CANCELED_BY_OPERATOR")
