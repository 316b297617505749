"""The file of an earlier run, processed once more: as one more run, with every gate in its way."""

from datetime import datetime
from uuid import UUID

from prefect import flow

from db import engine
from db.clock import Clock
from tasks.catalogue.archive import find_archived
from tasks.catalogue.shelf.steps import settle
from tasks.catalogue.steps import REPLAY, catalogue_run, fetch_file, keep_file, load_file
from tasks.person import user_name
from tasks.run import Start


@flow(name="replay-run", flow_run_name="{run_id}", persist_result=False)
def replay_run(run_id: UUID, at: datetime | None = None) -> UUID:
    """Process the archived file of a run again, whatever is on the server now. Returns the id of the new run.

    Fails if the run kept no file, if the file is gone, or if the feed is busy or does not run. The run after it reads
    what is on the server then.
    """
    with engine.connect() as conn:
        replayed = find_archived(conn, run_id)
    start = Start(clock=Clock(at), actor=user_name(), parameters={REPLAY: str(run_id)})
    with catalogue_run(replayed["feed_key"], start) as (run, folder):
        file = fetch_file(run, folder)
        keep_file(run, file)
        settle(run, load_file(run, file.path))
    return run.id
