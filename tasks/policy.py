"""Retry policies as values: how often, after how long, and what a failure counts for."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta

from db.enums import JobStatus, Recovery


@dataclass(frozen=True)
class Backoff:
    """Waits between the attempts of a job: doubled each time, bounded, spread so that many do not come back at once."""

    base_seconds: float
    max_seconds: float
    jitter_ratio: float = 0.0

    def after(self, attempt: int, *, chance: float) -> timedelta:
        """The wait after this attempt (the first is 1); `chance`, from 0 to 1, places it within the jitter."""
        whole = min(self.base_seconds * 2 ** (attempt - 1), self.max_seconds)
        spread = 1 + self.jitter_ratio * (2 * chance - 1)
        return timedelta(seconds=min(whole * spread, self.max_seconds))


@dataclass(frozen=True)
class RetryPolicy:
    """How a pipeline goes on after a failure."""

    delays_seconds: tuple[int, ...] = ()  # between the attempts inside one run
    job_retries: int = 0  # starts of a job after the first, when its run failed
    backoff: Backoff | None = None
    crash_attempts: int = 1  # starts of a job, the first included, before a lost worker ends it
    lost_status: JobStatus = JobStatus.FAILED  # what a tick makes of a lost job without attempts left
    dead_letters: bool = False  # keep a job that cannot succeed for a person to requeue
    failures_to_disable: int | None = None  # failed jobs in a row that stop the key


@dataclass(frozen=True)
class Verdict:
    """What becomes of a failed job."""

    status: JobStatus
    retry_after: timedelta | None = None


def judge(
    policy: RetryPolicy,
    recovery: Recovery,
    *,
    attempt: int,
    chance: Callable[[], float],
    asked_to_wait: timedelta | None = None,
) -> Verdict:
    """Another start later, or the end. `asked_to_wait` is what the other side asked for (Retry-After)."""
    last = Verdict(JobStatus.DEAD_LETTER if policy.dead_letters else JobStatus.FAILED)
    if recovery is not Recovery.TRANSIENT or attempt > policy.job_retries or policy.backoff is None:
        return last
    wait = policy.backoff.after(attempt, chance=chance())
    return Verdict(JobStatus.FAILED, max(wait, asked_to_wait or wait))


CATALOGUE = RetryPolicy(delays_seconds=(5, 15), crash_attempts=3, failures_to_disable=3)
CONNECTORS = RetryPolicy(
    job_retries=5,
    backoff=Backoff(base_seconds=60, max_seconds=3600, jitter_ratio=0.25),
    crash_attempts=6,
    lost_status=JobStatus.DEAD_LETTER,
    dead_letters=True,
)
EVIDENCE = RetryPolicy(job_retries=2, backoff=Backoff(base_seconds=60, max_seconds=3600), crash_attempts=3)
NEWS = RetryPolicy(lost_status=JobStatus.SKIPPED_TIMEOUT)
