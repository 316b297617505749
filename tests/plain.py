"""Runs of a feed without Prefect around them: the same steps in the same order, a tenth of the time."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from uuid import UUID

from prefect.logging import disable_run_logger

from db.catalogue import Observation
from db.clock import Clock
from db.engine import Row
from tasks import files
from tasks.catalogue.shelf.steps import settle
from tasks.catalogue.steps import CATALOGUE, fetch_file, keep_file, load_file, skip
from tasks.exclusive import exclusive_run
from tasks.run import Run, Start
from tests.mill import Mill


class PlainMill(Mill):
    """A mill whose runs nobody but Postgres knows of."""

    def run(self, *, at: datetime | None = None, force: bool = False, **asked: str) -> Row:
        """The record of a run that succeeds; `asked` is what its job asks for, `plan` or `replay`."""
        with self.begun(at=at, **asked) as (run, folder):
            file = fetch_file.fn(run, folder, force=force)
            if file.unchanged:
                skip.fn(run, file.unchanged)
            else:
                keep_file.fn(run, file)
                settle.fn(run, load_file.fn(run, file.path))
        record = self.one("SELECT * FROM affiliate_feed_runs WHERE id = %s", run.id)
        assert record["status"] == "SUCCEEDED"
        return record

    @contextmanager
    def begun(
        self, *, at: datetime | None = None, job_id: UUID | None = None, **asked: str
    ) -> Iterator[tuple[Run, Path]]:
        """A run under its lock, and its folder."""
        start = Start(job_id=job_id, clock=Clock(at), actor="test", parameters=asked)
        with disable_run_logger(), exclusive_run(CATALOGUE, self.key, start) as run, files.work_folder() as folder:
            yield run, folder

    @contextmanager
    def loaded(self, *, at: datetime | None = None) -> Iterator[tuple[Run, Observation]]:
        """A run whose file is written; whoever asked for it settles it."""
        with self.begun(at=at) as (run, folder):
            yield run, load_file.fn(run, fetch_file.fn(run, folder).path)
