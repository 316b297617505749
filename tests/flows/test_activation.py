"""Approval and rejection as flows: typed forms of a Prefect server."""

import pytest
from prefect.flows import load_flow_from_entrypoint

from db.errors import RefusedError
from flows.approve_activation import approve_activation
from flows.reject_activation import reject_activation
from tests.mill import after, row


@pytest.fixture
def blocked(mill):
    mill.deliver(*[row(number) for number in range(1, 31)])
    mill.run(at=after(1))
    mill.deliver(row(1), row(2))
    return mill.run(at=after(2))


@pytest.mark.spec("002 8.7")
def test_flows_decide_on_a_blocked_run_once(mill, blocked):
    assert approve_activation(blocked["id"], "ann") == 2
    with pytest.raises(RefusedError) as refused:
        reject_activation(blocked["id"], "bob", "too late")
    assert refused.value.code == "ALREADY_APPROVED"
    assert mill.counts(mill.newest_run(), "expiry_approved_by", "promotion_seq") == ("ann", 2)


def test_flow_rejects_a_blocked_run(mill, blocked):
    reject_activation(blocked["id"], "bob", "cut short")
    assert mill.newest_run()["expiry_rejected_reason"] == "cut short"


@pytest.mark.parametrize(
    "name, parameters",
    [
        ("approve_activation", {"run_id": "uuid", "approved_by": None}),
        ("reject_activation", {"run_id": "uuid", "rejected_by": None, "reason": None}),
    ],
)
def test_forms_ask_for_the_run_and_a_name(name, parameters):
    form = load_flow_from_entrypoint(f"flows/{name}.py:{name}").parameters
    assert {field: about.get("format") for field, about in form.properties.items()} == parameters
    assert set(form.required) == set(parameters)
