"""Which slot is claimed, and which comes next: on the grid, once each, whatever the clock does."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks.slots import Claim, Due, claim

FIRST = datetime(2026, 3, 2, 12, tzinfo=UTC)
HOUR = timedelta(hours=1)
MINUTE = timedelta(minutes=1)

spans = st.integers(min_value=1, max_value=7 * 24 * 3600).map(lambda seconds: timedelta(seconds=seconds))
graces = st.none() | st.integers(min_value=0, max_value=3 * 24 * 3600).map(lambda seconds: timedelta(seconds=seconds))
delays = st.timedeltas(min_value=timedelta(0), max_value=timedelta(days=30))


@pytest.mark.spec("002 5.3", "001 9")
@pytest.mark.parametrize(
    ("due", "late", "slot", "then"),
    [
        pytest.param(Due(FIRST, HOUR), 0 * HOUR, 0, 1, id="on time"),
        pytest.param(Due(FIRST, HOUR), 59 * MINUTE, 0, 1, id="late by less than an interval"),
        pytest.param(Due(FIRST, HOUR), HOUR, 1, 2, id="exactly at the next slot the newest is taken"),
        pytest.param(Due(FIRST, HOUR), 6.5 * HOUR, 6, 7, id="a backlog of seven yields its newest"),
        pytest.param(Due(FIRST, HOUR, is_coalesced=False), 6.5 * HOUR, 0, 1, id="not coalesced: its oldest"),
        pytest.param(Due(FIRST, HOUR, misfire_grace=5 * MINUTE), 5 * MINUTE, 0, 1, id="as old as the grace"),
        pytest.param(Due(FIRST, HOUR, misfire_grace=5 * MINUTE), 6 * MINUTE, None, 1, id="older than the grace"),
        pytest.param(Due(FIRST, HOUR, misfire_grace=5 * MINUTE), 3.05 * HOUR, 3, 4, id="newest within the grace"),
        pytest.param(Due(FIRST, HOUR, misfire_grace=5 * MINUTE), 3.5 * HOUR, None, 4, id="all of a backlog too old"),
        pytest.param(
            Due(FIRST, HOUR, is_coalesced=False, misfire_grace=2 * HOUR),
            6.5 * HOUR,
            5,
            6,
            id="not coalesced: the oldest within the grace",
        ),
        pytest.param(
            Due(FIRST, HOUR, is_coalesced=False, misfire_grace=MINUTE),
            6.5 * HOUR,
            None,
            7,
            id="not coalesced: all too old",
        ),
    ],
)  # fmt: skip - one line per case
def test_claim_takes_the_slot_of_the_rules(due, late, slot, then):
    expected = Claim(None if slot is None else FIRST + slot * HOUR, FIRST + then * HOUR)
    assert claim(due, now=FIRST + late) == expected


@pytest.mark.spec("001 3", "001 12")
@given(interval=spans, grace=graces, is_coalesced=st.booleans(), pauses=st.lists(delays, max_size=30))
def test_repeated_claims_never_repeat_a_slot_nor_leave_the_grid(interval, grace, is_coalesced, pauses):
    due, now, slots = Due(FIRST, interval, is_coalesced, grace), FIRST, []
    for pause in pauses:
        now += pause
        while due.next_run_at <= now:
            made = claim(due, now=now)
            assert made.next_run_at > due.next_run_at
            assert (made.next_run_at - FIRST) % interval == timedelta(0)
            slots += [made.slot] if made.slot else []
            due = Due(made.next_run_at, interval, is_coalesced, grace)
            if not is_coalesced and len(slots) > 200:
                return  # a second's interval over a month: seen enough
    assert slots == sorted(set(slots))
    assert all((slot - FIRST) % interval == timedelta(0) for slot in slots)


@given(interval=spans, grace=graces, late=delays)
def test_claim_of_a_coalesced_backlog_leaves_nothing_due(interval, grace, late):
    made = claim(Due(FIRST, interval, misfire_grace=grace), now=FIRST + late)
    assert FIRST + late < made.next_run_at <= FIRST + late + interval
    assert made.slot in (None, made.next_run_at - interval)


@given(interval=spans, grace=graces, is_coalesced=st.booleans(), late=delays)
def test_claim_respects_the_grace(interval, grace, is_coalesced, late):
    made, now = claim(Due(FIRST, interval, is_coalesced, grace), now=FIRST + late), FIRST + late
    newest = FIRST + late // interval * interval
    if grace is not None and now - newest > grace:
        assert made.slot is None
    else:
        assert made.slot is not None
        assert FIRST <= made.slot <= now
        assert grace is None or now - made.slot <= grace


@given(interval=spans, grace=st.integers(0, 3600).map(lambda seconds: timedelta(seconds=seconds)), late=delays)
def test_claim_passes_over_no_slot_that_is_fresh_when_not_coalesced(interval, grace, late):
    now = FIRST + late
    made = claim(Due(FIRST, interval, is_coalesced=False, misfire_grace=grace), now=now)
    if made.slot is not None:
        assert made.slot == FIRST or now - (made.slot - interval) > grace
