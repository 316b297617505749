"""Retry policies as values: how often, after how long, and what a failure counts for."""

from dataclasses import dataclass

from db.enums import Recovery


@dataclass(frozen=True)
class RetryPolicy:
    """How a pipeline goes on after a failure."""

    delays_seconds: tuple[int, ...]  # between the attempts inside one run
    crash_attempts: int  # starts of a job, the first included, before a lost worker is a failure
    failures_to_disable: int  # failed jobs in a row that stop the key

    def retries(self, recovery: Recovery) -> int:
        """Attempts after the first, inside one run."""
        return len(self.delays_seconds) if recovery is Recovery.TRANSIENT else 0


CATALOGUE = RetryPolicy(delays_seconds=(5, 15), crash_attempts=3, failures_to_disable=3)
