"""How far a fetch is: a live bar for whoever waits, a line in the log and the bar in Prefect at every tenth of it."""

import re
import time
from uuid import UUID

from prefect.artifacts import create_progress_artifact, update_progress_artifact
from prefect.runtime import flow_run

from db.engine import ping, session_errors
from tasks import progress
from tasks.run import Run
from tasks.steps import log_event

_TENTHS = 10
_ASK_SECONDS = 60


class Fetching:
    """Called after every piece that arrives; a file that comes in one piece is not worth a bar in Prefect.

    Once a minute it asks the database whether our session, and so our lock, still lives.
    """

    def __init__(self, run: Run) -> None:
        self._run = run
        self._asked_at = time.monotonic()
        self._tenth = 0
        self._bar: UUID | None = None

    def __call__(self, done: int, total: int | None) -> None:
        progress.report("fetching", done, total)
        tenth = min(done * _TENTHS // total, _TENTHS) if total else 0
        if tenth > self._tenth:
            is_first, self._tenth = self._tenth == 0, tenth
            percent = tenth * 100 // _TENTHS
            log_event("DOWNLOAD_PROGRESS", bytes_downloaded=done, total_bytes=total, percent_complete=percent)
            if not (is_first and tenth == _TENTHS):
                self._show(percent)
        if time.monotonic() - self._asked_at > _ASK_SECONDS:
            with session_errors(self._run.conn):
                ping(self._run.conn)
            self._asked_at = time.monotonic()

    def _show(self, percent: int) -> None:
        """At most ten calls for a file of any size. That Prefect does not answer is no reason to stop.

        Outside of a flow run nobody looks, and asking would start a server.
        """
        if flow_run.id is None:
            return
        try:
            if self._bar is None:
                key = "fetch-" + re.sub(r"[^a-z0-9]+", "-", self._run.key.key)  # all that Prefect allows in a key
                description = f"the file of {self._run.key.key}, run {self._run.id}"
                self._bar = create_progress_artifact(float(percent), key=key, description=description)  # type: ignore[assignment]
            else:
                update_progress_artifact(self._bar, float(percent))
        except Exception as error:  # noqa: BLE001 - whatever it is, the fetch goes on
            log_event("DOWNLOAD_PROGRESS", percent_complete=percent, not_shown=type(error).__name__)
