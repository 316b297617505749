"""The pipelines that there are: of each its retry policy, and the flow and deployment that carry out its jobs."""

from dataclasses import dataclass

from tasks import policy
from tasks.catalogue.watch import announce_expiring
from tasks.dispatch import Watch
from tasks.ledger import Policies
from tasks.policy import RetryPolicy


@dataclass(frozen=True)
class Registered:
    policy: RetryPolicy
    watch: Watch  # called at every tick
    flow: str  # module:function, called with the key and the job
    deployment: str  # flow/deployment on a Prefect server


PIPELINES = {
    "catalogue": Registered(
        policy.CATALOGUE,
        watch=announce_expiring,
        flow="flows.ingest_feed:ingest_feed",
        deployment="ingest-feed/catalogue",
    ),
}

POLICIES = Policies({name: pipeline.policy for name, pipeline in PIPELINES.items()})
WATCHES = tuple(pipeline.watch for pipeline in PIPELINES.values())
