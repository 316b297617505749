"""What the steps of every pipeline share: which failures a task tries again, and what Prefect shows of a busy key."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

from prefect.cache_policies import NO_CACHE
from prefect.client.orchestration import get_client
from prefect.client.schemas.objects import State, TaskRun
from prefect.concurrency.sync import concurrency
from prefect.logging import get_run_logger
from prefect.runtime import flow_run, task_run
from prefect.tasks import Task

from db.enums import Recovery
from tasks import progress
from tasks.errors import classify
from tasks.policy import RetryPolicy

SUBMISSION_TAG = "feedmill-submission:"

_LEASE_SECONDS = 60  # the shortest that Prefect grants; a killed holder keeps its slot for so long


def retry_if_transient(task: Task[..., Any], attempt: TaskRun, state: State[Any]) -> bool:
    """A task is tried again only if the same input may succeed."""
    error = state.result(raise_on_failure=False)
    again = isinstance(error, Exception) and classify(error) is Recovery.TRANSIENT
    if again and attempt.run_count <= task.retries:
        get_run_logger().warning("attempt %s failed, will try again: %s", attempt.run_count, error)
        progress.tell(f"{error}; trying again ({attempt.run_count} of {task.retries})")
    return again


def may_try_again(policy: RetryPolicy) -> bool:
    """Whether Prefect tries the task under way again if it raises; nobody does outside of a flow."""
    return 0 < int(task_run.run_count) <= len(policy.delays_seconds)


def submission() -> int | None:
    """The number of the submission that this flow run is, if the dispatcher submitted it."""
    tags = [tag for tag in flow_run.tags if tag.startswith(SUBMISSION_TAG)]
    return int(tags[0].removeprefix(SUBMISSION_TAG)) if tags else None


def live_task_options(policy: RetryPolicy) -> dict[str, Any]:
    """Of a task that is handed a live run: never cached, never persisted, called directly, retried by policy."""
    return {
        "cache_policy": NO_CACHE,
        "persist_result": False,
        "retries": len(policy.delays_seconds),
        "retry_delay_seconds": list(policy.delays_seconds),
        "retry_condition_fn": retry_if_transient,
    }


@contextmanager
def shown_as_busy(pipeline: str, key: str) -> Iterator[None]:
    """Hold the key's concurrency limit in Prefect, so that its UI tells the truth.

    Correctness never rests on it, the lock in Postgres does that: missing, taken or out of reach is logged, no more.
    """
    with ExitStack() as held:
        try:
            with get_client(sync_client=True) as client:
                client.upsert_global_concurrency_limit_by_name(f"{pipeline}:{key}", 1)
            held.enter_context(concurrency(f"{pipeline}:{key}", max_retries=0, lease_duration=_LEASE_SECONDS))
        except Exception as error:  # noqa: BLE001 - whatever it is, the run goes on
            get_run_logger().warning("the concurrency limit of %s could not be taken: %s", key, error)
        yield
