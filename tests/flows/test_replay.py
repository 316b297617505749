"""Runs by plan and replays through Prefect: the flow, its form, the commands."""

import json

import pytest
from prefect.flows import load_flow_from_entrypoint

from db.clock import iso
from feedmill import cli, contract
from tests.mill import after, row


@pytest.fixture
def feedmill(prefect_session, capsys):
    def run(*arguments):
        capsys.readouterr()
        code = contract.run(cli.app, [*map(str, arguments), "--json"])
        return code, json.loads(capsys.readouterr().out)

    return run


def at(hours):
    return ("--at", iso(after(hours)))


def test_run_goes_ahead_with_the_plan_and_not_without(feedmill, mill):
    mill.deliver(row(1))
    digest = feedmill("plan", mill.key, *at(1))[1]["digest"]
    code, record = feedmill("run", mill.key, "--plan", digest, *at(1))
    assert (code, record["plan_digest"], record["products_created"]) == (0, digest, 1)
    code, record = feedmill("run", mill.key, "--plan", digest, *at(2))
    assert (code, record["status"], record["error_code"]) == (1, "FAILED", "PLAN_CHANGED")


def test_replay_is_one_more_run(feedmill, mill):
    mill.deliver(row(1), row(2))
    first = mill.run(at=after(1))
    mill.deliver(row(1, price="1.00"))
    mill.run(at=after(2))
    code, record = feedmill("replay", first["id"], *at(3))
    assert (code, record["trigger"], record["replayed_from_run_id"]) == (0, "MANUAL", str(first["id"]))
    assert [str(offer["price"]) for offer in mill.offers(after(3)).values()] == ["10.00", "20.00"]


def test_the_form_asks_for_the_run():
    form = load_flow_from_entrypoint("flows/replay_run.py:replay_run").parameters
    assert form.properties["run_id"]["format"] == "uuid"
    assert form.required == ["run_id"]
