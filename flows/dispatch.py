"""One tick of the dispatcher, every minute on a Prefect server."""

from dataclasses import asdict

from prefect import flow
from prefect.client.orchestration import get_client

from db import engine
from db.clock import Clock
from tasks.dispatch import tick
from tasks.pipelines import POLICIES, WATCHES
from tasks.submitters import ServerSubmitter


@flow(name="dispatch", persist_result=False)
def dispatch() -> dict[str, int]:
    """Reap the dead, queue what is due or asked for, and submit one flow run per job."""
    with engine.connect() as conn, get_client(sync_client=True) as client:
        return asdict(tick(conn, ServerSubmitter(client), POLICIES, clock=Clock(), watches=WATCHES))
