"""The pipelines that there are: of each its retry policy, and the flow and deployment that carry out its jobs."""

from dataclasses import dataclass

from tasks import policy
from tasks.ledger import Policies
from tasks.policy import RetryPolicy


@dataclass(frozen=True)
class Registered:
    policy: RetryPolicy
    flow: str  # module:function, called with the key and the job
    deployment: str  # flow/deployment on a Prefect server


PIPELINES = {
    "catalogue": Registered(policy.CATALOGUE, flow="flows.ingest_feed:ingest_feed", deployment="ingest-feed/catalogue"),
}

POLICIES = Policies({name: pipeline.policy for name, pipeline in PIPELINES.items()})
