"""Retry policies: how long a failed job waits, and when it has failed for good."""

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from db.enums import JobStatus, Recovery
from tasks import policy
from tasks.policy import Backoff, RetryPolicy, Verdict, judge

MIDDLE = 0.5
POLICIES = {
    "catalogue": policy.CATALOGUE,
    "connectors": policy.CONNECTORS,
    "evidence": policy.EVIDENCE,
    "news": policy.NEWS,
}
every_policy = pytest.mark.parametrize("of", POLICIES.values(), ids=POLICIES)


def waits(of: RetryPolicy, *, chance: float = MIDDLE) -> list[float]:
    """The waits in seconds after each transient failure, until the job has failed for good."""
    seconds = []
    while (verdict := judge_transient(of, attempt=len(seconds) + 1, chance=chance)).retry_after is not None:
        assert verdict.status is JobStatus.FAILED
        seconds.append(verdict.retry_after.total_seconds())
    return seconds


def judge_transient(of: RetryPolicy, *, attempt: int, chance: float = MIDDLE, **asked: timedelta) -> Verdict:
    return judge(of, Recovery.TRANSIENT, attempt=attempt, chance=lambda: chance, **asked)


@pytest.mark.spec("003 retry", "000 A4")
@pytest.mark.parametrize(
    ("of", "seconds"),
    [
        pytest.param(policy.CONNECTORS, [60, 120, 240, 480, 960], id="connectors: five retries, doubling"),
        pytest.param(policy.EVIDENCE, [60, 120], id="evidence: three attempts"),
        pytest.param(policy.CATALOGUE, [], id="catalogue: inside the run only"),
        pytest.param(policy.NEWS, [], id="news: the next slot comes"),
    ],
)
def test_judge_lets_a_job_wait_longer_each_time(of, seconds):
    assert waits(of) == seconds


@pytest.mark.spec("002 16.1")
def test_catalogue_tries_three_times_inside_a_run():
    assert policy.CATALOGUE.delays_seconds == (5, 15)
    assert policy.CATALOGUE.crash_attempts == 3
    assert policy.CATALOGUE.failures_to_disable == 3


@pytest.mark.spec("003 retry")
@pytest.mark.parametrize(
    ("chance", "seconds"),
    [
        pytest.param(0.0, [45, 90, 180, 360, 720], id="a quarter less"),
        pytest.param(1.0, [75, 150, 300, 600, 1200], id="a quarter more"),
    ],
)
def test_judge_spreads_the_waits_of_connectors(chance, seconds):
    assert waits(policy.CONNECTORS, chance=chance) == seconds


@pytest.mark.spec("003 retry")
@given(attempt=st.integers(1, 60), chance=st.floats(0, 1))
def test_backoff_stays_within_its_jitter_and_its_bound(attempt, chance):
    whole = min(60 * 2 ** (attempt - 1), 3600)
    wait = policy.CONNECTORS.backoff.after(attempt, chance=chance).total_seconds()
    assert 0.75 * whole - 1e-6 <= wait <= min(1.25 * whole, 3600) + 1e-6


def test_backoff_uses_its_whole_jitter():
    """A jitter that only ever adds, or only takes away, would still bunch the retries of many jobs."""
    spread = Backoff(base_seconds=100, max_seconds=1000, jitter_ratio=0.25)
    assert [spread.after(1, chance=chance).total_seconds() for chance in (0, 0.25, 0.5, 0.75, 1)] == [
        75, 87.5, 100, 112.5, 125,
    ]  # fmt: skip


@pytest.mark.spec("003 retry")
@pytest.mark.parametrize(
    ("asked", "waited"),
    [
        pytest.param(timedelta(minutes=20), timedelta(minutes=20), id="longer than the backoff"),
        pytest.param(timedelta(hours=2), timedelta(hours=2), id="longer than the longest backoff"),
        pytest.param(timedelta(seconds=5), timedelta(seconds=60), id="shorter: the backoff holds"),
        pytest.param(None, timedelta(seconds=60), id="not asked"),
    ],
)
def test_judge_honours_what_the_other_side_asked_for(asked, waited):
    assert judge_transient(policy.CONNECTORS, attempt=1, asked_to_wait=asked).retry_after == waited


@pytest.mark.spec("003 retry")
def test_judge_does_not_wait_for_a_job_without_retries_left():
    asked = {"asked_to_wait": timedelta(minutes=20)}
    assert judge_transient(policy.CONNECTORS, attempt=6, **asked) == Verdict(JobStatus.DEAD_LETTER)


@pytest.mark.spec("003 retry", "002 16.1")
@pytest.mark.parametrize("recovery", [Recovery.PERMANENT, Recovery.CONFIGURATION], ids=str)
@every_policy
def test_judge_ends_at_once_what_would_fail_again(of, recovery):
    final = JobStatus.DEAD_LETTER if of is policy.CONNECTORS else JobStatus.FAILED
    assert judge(of, recovery, attempt=1, chance=lambda: MIDDLE) == Verdict(final)


@pytest.mark.spec("003 retry")
@pytest.mark.parametrize(
    ("attempt", "status", "again"),
    [
        pytest.param(5, JobStatus.FAILED, True, id="the fifth start may still be repeated"),
        pytest.param(6, JobStatus.DEAD_LETTER, False, id="five retries are used up"),
    ],
)
def test_judge_makes_a_dead_letter_after_five_retries(attempt, status, again):
    verdict = judge_transient(policy.CONNECTORS, attempt=attempt)
    assert (verdict.status, verdict.retry_after is not None) == (status, again)


@pytest.mark.spec("000 A4")
def test_judge_fails_evidence_for_good_after_three_attempts():
    assert judge_transient(policy.EVIDENCE, attempt=3) == Verdict(JobStatus.FAILED)


@pytest.mark.spec("001 7")
def test_a_lost_job_of_news_is_skipped_and_not_repeated():
    assert (policy.NEWS.crash_attempts, policy.NEWS.lost_status) == (1, JobStatus.SKIPPED_TIMEOUT)
