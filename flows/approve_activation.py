"""A person approves a run that a gate held back."""

from uuid import UUID

from prefect import flow

from tasks.catalogue import approval
from tasks.catalogue.registry import Actor


@flow(name="approve-activation", flow_run_name="{run_id}", persist_result=False)
def approve_activation(run_id: UUID, approved_by: str) -> int:
    """Put what a blocked run saw on the shelf, as of now.

    Returns the number of its products. Fails if the run does not wait, if a newer one has completed, or if the feed is
    busy.
    """
    return approval.approve(run_id, Actor(approved_by)).products_promoted
