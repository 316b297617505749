"""A person rejects a run that a gate held back."""

from uuid import UUID

from prefect import flow

from tasks.catalogue import approval
from tasks.catalogue.registry import Actor


@flow(name="reject-activation", flow_run_name="{run_id}", persist_result=False)
def reject_activation(run_id: UUID, rejected_by: str, reason: str) -> None:
    """Decide that what a blocked run saw never goes on the shelf, and say why.

    Fails if the run does not wait, if a newer one has completed, or if the feed is busy.
    """
    approval.reject(run_id, reason, Actor(rejected_by))
