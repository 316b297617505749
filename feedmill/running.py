"""One run now, here: Prefect around it, progress bars in front of it, the outcome from the ledger."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from uuid import UUID

import click
from click.core import ParameterSource
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeRemainingColumn

from db import engine
from db.clock import Clock
from db.engine import Row
from db.errors import FeedmillError
from feedmill import streams
from feedmill.prefect_api import prefect_api
from feedmill.reading import find_run
from feedmill.telling import Lines
from tasks import begun, exclusive, progress
from tasks.catalogue.registry import PIPELINE, find_feed
from tasks.hints import naming
from tasks.keyring import check_key


def run_now(
    key: str, *, clock: Clock, force: bool = False, plan: str | None = None
) -> tuple[Row, FeedmillError | None]:
    """The record of the run, and what went wrong; refuses at once what cannot be started."""
    if plan is not None:
        from tasks.catalogue.plan import valid_digest  # noqa: PLC0415 - half a second that other commands do without

        with naming(key):
            valid_digest(plan)

    def start() -> None:
        from flows.ingest_feed import ingest_feed  # noqa: PLC0415 - Prefect takes a second to import

        ingest_feed(key, force=force, plan=plan, at=clock.at)

    return _started(key, start, clock=clock)


def replay_now(run_id: UUID, *, clock: Clock) -> tuple[Row, FeedmillError | None]:
    """The record of the run that processes the file of another again, and what went wrong."""
    from tasks.catalogue.archive import find_archived  # noqa: PLC0415 - brings the network

    with engine.connect() as conn:
        key = find_archived(conn, run_id)["feed_key"]

    def start() -> None:
        from flows.replay_run import replay_run  # noqa: PLC0415 - Prefect takes a second to import

        replay_run(run_id, at=clock.at)

    return _started(key, start, clock=clock)


def _started(key: str, start: Callable[[], None], *, clock: Clock) -> tuple[Row, FeedmillError | None]:
    with naming(key):
        _check(key, clock)
    error: BaseException | None = None
    with prefect_api(), progress_bars(), begun.runs_begun() as ids:
        try:
            with naming(key):
                start()
        except (Exception, KeyboardInterrupt) as raised:  # noqa: BLE001 - the ledger's record says how it ended
            error = raised
    if not ids:
        raise error or AssertionError(key)  # nothing began
    with engine.connect() as conn:
        record = find_run(conn, ids[-1])
    if record["status"] == "RUNNING" and error is not None:
        raise error  # the session was lost; the reaper closes the record
    return record, _told(record, error)


def _check(key: str, clock: Clock) -> None:
    """Refuse what cannot run before Prefect is waited for."""
    with engine.connect() as conn:
        feed = find_feed(conn, key)
        clock.stamp(feed["last_stamp_at"])
        check_key(feed)
        schedule = exclusive.find_schedule(conn, PIPELINE, key)
        exclusive.refuse_unless_enabled(schedule)
        exclusive.refuse_if_busy(conn, schedule)


def _told(record: Row, error: BaseException | None) -> FeedmillError | None:
    """What to tell a person of a run that failed."""
    if record["error_code"] is None:
        return None
    hint = error.hint if isinstance(error, FeedmillError) else ""
    return FeedmillError(record["error_message"] or record["error_code"], code=record["error_code"], hint=hint)


class _Terminal(progress.Listener):
    def __init__(self, bars: Progress) -> None:
        self._bars = bars
        self._tasks: dict[str, TaskID] = {}

    def progressed(self, what: str, done: int, total: int | None) -> None:
        if what not in self._tasks:
            self._tasks[what] = self._bars.add_task(what, total=total)
        self._bars.update(self._tasks[what], completed=done, total=total)

    def told(self, sentence: str) -> None:
        self._bars.console.print(f"feedmill: {sentence}", highlight=False, markup=False)


def _is_for_machines() -> bool:
    """Whether the command under way was asked for a document."""
    context = click.get_current_context(silent=True)
    return context is not None and context.get_parameter_source("json") is ParameterSource.COMMANDLINE


@contextmanager
def progress_bars() -> Iterator[None]:
    """A bar on standard error for each thing that takes long, where somebody looks."""
    console = streams.Paper(stderr=True)
    if not console.is_terminal or _is_for_machines():
        with progress.heard_by(Lines()):
            yield
        return
    columns = (TextColumn("{task.description:>9}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True) as bars, progress.heard_by(_Terminal(bars)):
        yield
