"""Who carries out a job: a Prefect server with its workers, or this process, one job after the other."""

import importlib
from collections.abc import Callable
from datetime import timedelta
from typing import Any
from uuid import UUID

from prefect.client.orchestration import SyncPrefectClient
from prefect.client.schemas.objects import FlowRun, StateType
from prefect.exceptions import ObjectNotFound

from db.clock import Clock, system_now
from db.engine import Row
from db.errors import FeedmillError
from tasks import progress
from tasks.pipelines import PIPELINES
from tasks.steps import SUBMISSION_TAG

STUCK = timedelta(minutes=5)  # a flow run that a worker took and has not started for so long never will


class ServerSubmitter:
    """Hands jobs to a Prefect server, whose workers carry them out."""

    def __init__(self, client: SyncPrefectClient) -> None:
        self._client = client

    def submit(self, job: Row) -> UUID:
        """Keys and ids as parameters; a submission number in key and tag, because idempotency keys are for ever."""
        name = PIPELINES[job["pipeline"]].deployment
        try:
            deployment = self._client.read_deployment_by_name(name)
        except ObjectNotFound:
            message = f"there is no deployment {name} on the Prefect server; make it with: prefect deploy --all"
            raise FeedmillError(message, code="DEPLOYMENT_MISSING") from None
        flow_run = self._client.create_flow_run_from_deployment(
            deployment.id,
            parameters={"feed_key": job["key"], "trigger": job["trigger"], "job_id": str(job["id"])},
            idempotency_key=f"{job['id']}:{job['submission']}",
            tags=[f"{SUBMISSION_TAG}{job['submission']}"],
        )
        return flow_run.id

    def is_lost(self, job: Row) -> bool:
        try:
            flow_run = self._client.read_flow_run(job["flow_run_id"])
        except ObjectNotFound:
            return True
        return _came_to_nothing(flow_run)


def _came_to_nothing(flow_run: FlowRun) -> bool:
    """Ended, though its job is still queued; or taken by a worker and not heard of since."""
    state = flow_run.state
    if state is None:
        return False
    if state.is_final():
        return True
    return state.type is StateType.PENDING and system_now() - state.timestamp > STUCK


class LocalSubmitter:
    """Carries jobs out in this process. What goes wrong is in the ledger; the next job comes all the same."""

    def __init__(self, clock: Clock, *, before_first: Callable[[], object]) -> None:
        self._at = clock.at
        self._before_first: Callable[[], object] | None = before_first

    def submit(self, job: Row) -> None:
        if self._before_first:
            self._before_first()
            self._before_first = None
        flow = _flow(PIPELINES[job["pipeline"]].flow)
        progress.tell(f"running {job['key']}")
        try:
            flow(job["key"], trigger=job["trigger"], job_id=job["id"], at=self._at)
        except Exception as error:  # noqa: BLE001 - its record says what happened
            progress.tell(f"{job['key']}: {error}")

    def is_lost(self, job: Row) -> bool:
        """A job that is still queued after a process took it: that process is gone or never got the lock."""
        return True


def _flow(path: str) -> Callable[..., Any]:
    module, _, name = path.partition(":")
    made: Callable[..., Any] = getattr(importlib.import_module(module), name)
    return made
