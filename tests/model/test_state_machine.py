"""The engine against the literal reference. Many more histories: `python -m tests.model.long`."""

from collections import Counter

import pytest

from tests.model.check import check

HISTORIES = 60
SEED = 2


@pytest.mark.spec("002 2.4", "002 2.5", "002 2.7", "002 2.8.2", "002 4.2", "002 4.3", "002 7.2", "002 7.4", "002 7.6")
@pytest.mark.spec("002 8.2", "002 8.7", "002 9.5", "002 9.6", "002 11.1", "002 13.1")
def test_random_histories_leave_what_the_reference_has(world):
    counts = Counter()
    check(world, histories=HISTORIES, seed=SEED, counts=counts)
    assert counts["Run: promoted"] > HISTORIES  # not all of them refused or failed
