"""One run of one feed: the order of its steps."""

from datetime import datetime
from uuid import UUID

from prefect import flow

from db.clock import Clock
from db.enums import Trigger
from tasks.catalogue.plan import valid_digest
from tasks.catalogue.shelf.steps import settle
from tasks.catalogue.steps import PLAN, catalogue_run, fetch_file, keep_file, load_file, skip
from tasks.person import user_name
from tasks.run import Start
from tasks.steps import submission


@flow(name="ingest-feed", flow_run_name="{feed_key}", persist_result=False)
def ingest_feed(
    feed_key: str,
    trigger: Trigger = Trigger.MANUAL,
    job_id: UUID | None = None,
    force: bool = False,
    plan: str | None = None,
    at: datetime | None = None,
) -> UUID:
    """Fetch one feed, write what changed, and put it on the shelf if every gate agrees. Returns the id of the run.

    With the digest of a plan it goes ahead only if file and shelf still give that plan.
    """
    asked = {PLAN: valid_digest(plan)} if plan is not None else {}
    start = Start(trigger, job_id, submission(), Clock(at), actor=user_name(), parameters=asked)
    with catalogue_run(feed_key, start) as (run, folder):
        file = fetch_file(run, folder, force=force)
        if file.unchanged:
            skip(run, file.unchanged)
        else:
            keep_file(run, file)
            settle(run, load_file(run, file.path))
    return run.id
