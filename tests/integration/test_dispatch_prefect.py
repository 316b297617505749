"""The dispatcher and a real Prefect server: what it submits, what it takes for lost, and feeds that it runs itself."""

import json
from datetime import timedelta

import pytest

from db import jobs
from db.clock import Clock, system_now
from db.errors import BadRequestError
from feedmill import cli, contract
from tasks import dispatch, ledger
from tasks.ledger import Policies
from tests.mill import Mill, after, row

DEPLOYMENT = "catalogue"
NOTHING = dispatch.Tick(reaped=0, claimed=0, submitted=0, finished=0)


@pytest.fixture
def client(prefect_session):
    from prefect.client.orchestration import get_client  # noqa: PLC0415 - Prefect takes a second to import

    with get_client(sync_client=True) as made:
        yield made


@pytest.fixture
def deployment(client):
    """ingest-feed/catalogue, as `prefect deploy` would leave it; no worker looks at it."""
    flow_id = client.create_flow_from_name("ingest-feed")
    deployment_id = client.create_deployment(flow_id, DEPLOYMENT)
    yield deployment_id
    client.delete_deployment(deployment_id)


@pytest.fixture
def submitter(client, deployment):
    from tasks.submitters import ServerSubmitter  # noqa: PLC0415

    return ServerSubmitter(client)


@pytest.fixture
def mill(conn, tmp_path, monkeypatch):
    """A feed that reads a local file every six hours, first due six hours after it was put on file."""
    monkeypatch.setenv("FEEDMILL_TEST_CLOCK", "1")
    made = Mill(conn, tmp_path / "catalog.csv").put_on_file(every_hours=6)
    made.deliver(row(1), row(2))
    return made


@pytest.fixture
def taken(mill):
    """A job of the feed, taken for its first submission."""
    ledger.claim_due(mill.conn, now=after(6))
    [job] = jobs.mark_submissions(mill.conn, now=after(6), limit=1)
    return job


def tick(mill, submitter, hours):
    return dispatch.tick(mill.conn, submitter, Policies(), clock=Clock(after(hours)))


def made_runs(client, deployment):
    from prefect.client.schemas.filters import DeploymentFilter, DeploymentFilterId  # noqa: PLC0415

    chosen = DeploymentFilter(id=DeploymentFilterId(any_=[deployment]))
    return client.read_flow_runs(deployment_filter=chosen)


def put(client, flow_run_id, state):
    client.set_flow_run_state(flow_run_id, state, force=True)


def test_submit_makes_one_flow_run_of_keys_and_ids(submitter, client, deployment, taken):
    flow_run = client.read_flow_run(submitter.submit(taken))
    assert flow_run.parameters == {"feed_key": "northfork", "trigger": "SCHEDULED", "job_id": str(taken["id"])}
    assert (flow_run.deployment_id, flow_run.state.is_scheduled()) == (deployment, True)
    assert flow_run.idempotency_key == f"{taken['id']}:1"
    assert flow_run.tags == ["feedmill-submission:1"]


def test_submit_of_the_same_submission_is_the_same_flow_run(submitter, client, deployment, taken):
    first, again = submitter.submit(taken), submitter.submit(taken)
    assert first == again
    assert submitter.submit({**taken, "submission": 2}) != first
    assert len(made_runs(client, deployment)) == 2


@pytest.mark.parametrize("name", ["Crashed", "Cancelled", "Failed", "Completed"])
def test_a_flow_run_that_ended_is_lost_while_its_job_waits(submitter, client, taken, name):
    from prefect import states  # noqa: PLC0415

    flow_run_id = submitter.submit(taken)
    put(client, flow_run_id, getattr(states, name)())
    assert submitter.is_lost({**taken, "flow_run_id": flow_run_id})


def test_a_flow_run_that_was_deleted_is_lost(submitter, client, taken):
    flow_run_id = submitter.submit(taken)
    client.delete_flow_run(flow_run_id)
    assert submitter.is_lost({**taken, "flow_run_id": flow_run_id})


@pytest.mark.parametrize("name", ["Scheduled", "Pending", "Running", "Late"])
def test_a_flow_run_that_may_still_begin_is_not_lost(submitter, client, taken, name):
    from prefect import states  # noqa: PLC0415

    flow_run_id = submitter.submit(taken)
    put(client, flow_run_id, getattr(states, name)())
    assert not submitter.is_lost({**taken, "flow_run_id": flow_run_id})


def test_a_flow_run_that_a_worker_took_and_never_began_is_lost(submitter, client, taken, monkeypatch):
    from prefect import states  # noqa: PLC0415

    flow_run_id = submitter.submit(taken)
    put(client, flow_run_id, states.Pending())
    monkeypatch.setattr("tasks.submitters.system_now", lambda: system_now() + timedelta(minutes=6))
    assert submitter.is_lost({**taken, "flow_run_id": flow_run_id})


def test_tick_submits_a_due_feed_once_and_again_when_its_flow_run_is_lost(submitter, client, deployment, mill):
    from prefect import states  # noqa: PLC0415

    assert tick(mill, submitter, 5) == NOTHING
    assert tick(mill, submitter, 6) == dispatch.Tick(reaped=0, claimed=1, submitted=1, finished=0)
    assert tick(mill, submitter, 6.1) == NOTHING
    [job], [first] = mill.jobs(), made_runs(client, deployment)
    assert (job["status"], job["submission"], job["flow_run_id"]) == ("queued", 1, first.id)
    put(client, first.id, states.Crashed())
    assert tick(mill, submitter, 6.2).submitted == 1
    assert tick(mill, submitter, 6.3) == NOTHING
    assert mill.jobs()[0]["submission"] == len(made_runs(client, deployment)) == 2


def test_an_old_submission_does_nothing_and_the_newest_runs(prefect_session, mill, taken):
    """As a worker runs them: the number of the submission is a tag of its flow run."""
    from prefect import tags  # noqa: PLC0415

    from flows.ingest_feed import ingest_feed  # noqa: PLC0415

    mill.conn.execute("UPDATE ingestion_jobs SET submission = 2")
    with pytest.raises(BadRequestError) as refusal, tags("feedmill-submission:1"):
        ingest_feed("northfork", job_id=taken["id"], at=after(7))
    assert refusal.value.code == "JOB_NOT_WAITING"
    assert (mill.runs(), mill.jobs()[0]["status"]) == ([], "queued")
    with tags("feedmill-submission:2"):
        ingest_feed("northfork", job_id=taken["id"], at=after(7))
    assert (mill.newest_run()["trigger"], mill.newest_run()["status"]) == ("SCHEDULED", "SUCCEEDED")


def test_dispatch_flow_does_a_tick_on_the_server(client, deployment, mill):
    from flows.dispatch import dispatch as flow  # noqa: PLC0415

    assert flow() == {"reaped": 0, "claimed": 1, "submitted": 1, "finished": 0}
    [made] = made_runs(client, deployment)
    assert made.id == mill.jobs()[0]["flow_run_id"]


def test_dispatch_command_submits_to_the_configured_server(client, deployment, mill, capsys):
    assert contract.run(cli.app, ["dispatch", "--json", "--at", "2026-03-02T18:00:00Z"]) == 0
    assert json.loads(capsys.readouterr().out) == {"reaped": 0, "claimed": 1, "submitted": 1, "finished": 0}
    assert len(made_runs(client, deployment)) == 1


def test_dispatch_command_says_what_it_could_not_submit(client, mill, capsys):
    """No deployment of the pipeline on the server: the feed would never run, and nobody would know why."""
    contract.run(cli.app, ["dispatch", "--json", "--at", "2026-03-02T18:00:00Z"])
    said = capsys.readouterr().err
    assert "northfork" in said
    assert "ingest-feed/catalogue" in said


def test_dispatch_here_runs_what_is_due_from_file_to_offers(prefect_session, mill):
    from tasks.submitters import LocalSubmitter  # noqa: PLC0415

    mill.another("southfork")
    broken = mill.another("eastfork")
    mill.conn.execute(
        "UPDATE feed_settings SET path = '/no/such/file.csv' WHERE schedule_id = %s", [broken.feed()["schedule_id"]]
    )
    for key in ("southfork", "eastfork"):
        mill.conn.execute(
            "UPDATE schedules SET interval_seconds = 3600, next_run_at = %s WHERE key = %s", [after(6), key]
        )
    began = []
    submitter = LocalSubmitter(Clock(after(6)), before_first=lambda: began.append(True))
    assert tick(mill, submitter, 6) == dispatch.Tick(reaped=0, claimed=3, submitted=0, finished=3)
    assert began == [True]
    states = mill.conn.execute("SELECT key, status, slot FROM ingestion_jobs ORDER BY key").fetchall()
    assert [(job["key"], job["status"]) for job in states] == [
        ("eastfork", "failed"), ("northfork", "success"), ("southfork", "success"),
    ]  # fmt: skip
    assert {job["slot"] for job in states} == {after(6)}
    assert set(mill.offers(after(6))) == {"item-1", "item-2"}
    assert tick(mill, submitter, 6.5) == NOTHING


def test_dispatch_here_honours_a_request(prefect_session, mill):
    from tasks.submitters import LocalSubmitter  # noqa: PLC0415

    ledger.request(mill.conn, jobs.Key("default", "catalogue", "northfork"), by="ann", now=after(1))
    submitter = LocalSubmitter(Clock(after(2)), before_first=lambda: None)
    assert tick(mill, submitter, 2) == dispatch.Tick(reaped=0, claimed=1, submitted=0, finished=1)
    assert (mill.newest_run()["trigger"], mill.newest_run()["started_at"]) == ("MANUAL", after(2))
    assert mill.feed()["next_run_at"] == after(6)
    assert mill.feed()["manual_run_pending"] is False
