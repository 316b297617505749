"""Deployments get their scheduled runs with the pinned versions of Prefect, SQLAlchemy and fastapi."""

import time
from datetime import timedelta

from prefect import get_client
from prefect.client.schemas.filters import DeploymentFilter, DeploymentFilterId
from prefect.deployments.runner import RunnerDeployment
from prefect.states import StateType

from feedmill.prefect_api import temporary_prefect_api

TINY = """
from prefect import flow

@flow
def tiny() -> None:
    pass
"""


def test_scheduler_makes_a_run_of_a_deployment(tmp_path, monkeypatch):
    """With SQLAlchemy 2.1 the server looks healthy, takes the deployment, and never schedules a run."""
    (tmp_path / "tiny.py").write_text(TINY)
    monkeypatch.chdir(tmp_path)
    with temporary_prefect_api(services=True), get_client(sync_client=True) as client:
        deployment = RunnerDeployment.from_entrypoint("tiny.py:tiny", name="hourly", interval=timedelta(hours=1))
        deployed = DeploymentFilter(id=DeploymentFilterId(any_=[deployment.apply()]))
        deadline = time.monotonic() + 90  # the scheduler looks for new deployments every 5 s
        while not (runs := client.read_flow_runs(deployment_filter=deployed)):
            assert time.monotonic() < deadline, "the scheduler made no run"
            time.sleep(0.2)
        assert {run.state_type for run in runs} == {StateType.SCHEDULED}
