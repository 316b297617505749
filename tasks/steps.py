"""What the steps of every pipeline share: which failures a task tries again, and the limit that Prefect shows."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from prefect.client.schemas.objects import State, TaskRun
from prefect.logging import get_run_logger
from prefect.tasks import Task

from db.enums import Recovery
from tasks.errors import classify
from tasks.policy import RetryPolicy


def retry_if_transient(_task: Task[..., Any], _task_run: TaskRun, state: State[Any]) -> bool:
    """A task is tried again only if the same input may succeed."""
    error = state.result(raise_on_failure=False)
    again = isinstance(error, Exception) and classify(error) is Recovery.TRANSIENT
    if again:
        get_run_logger().warning("will try again: %s", error)
    return again


def live_task_options(policy: RetryPolicy) -> dict[str, Any]:
    """Of a task that is handed a live run: never cached, never persisted, called directly, retried by policy."""
    from prefect.cache_policies import NO_CACHE  # noqa: PLC0415 - beside its only use

    return {
        "cache_policy": NO_CACHE,
        "persist_result": False,
        "retries": len(policy.delays_seconds),
        "retry_delay_seconds": list(policy.delays_seconds),
        "retry_condition_fn": retry_if_transient,
    }


@contextmanager
def shown_as_busy(key: str) -> Iterator[None]:
    """Show in Prefect that the key is at work. Correctness does not rest on it: whatever fails here is logged."""
    yield
