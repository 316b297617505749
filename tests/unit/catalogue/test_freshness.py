"""Whether a file is the one that was processed last."""

from datetime import UTC, datetime, timedelta

import pytest

from tasks.catalogue.freshness import LastFile, unchanged_by_hash, unchanged_by_stat

THEN = datetime(2026, 3, 2, 12, tzinfo=UTC)
LATER = THEN + timedelta(seconds=1)
LAST = LastFile(THEN, 100, "ab" * 32)
NONE = LastFile(None, None, None)


@pytest.mark.spec("002 9.5")
@pytest.mark.parametrize(
    "last, modified_at, size, reason",
    [
        pytest.param(LAST, THEN, 100, "UNCHANGED_MTIME", id="time and size as before"),
        pytest.param(LAST, LATER, 100, None, id="another time"),
        pytest.param(LAST, THEN - timedelta(days=1), 100, None, id="an earlier time"),
        pytest.param(LAST, THEN, 101, None, id="another size"),
        pytest.param(LAST, None, 100, None, id="no time from the server"),
        pytest.param(LAST, THEN, None, None, id="no size from the server"),
        pytest.param(LAST, None, None, None, id="nothing from the server"),
        pytest.param(NONE, THEN, 100, None, id="no file before"),
        pytest.param(NONE, None, None, None, id="nothing known of either"),
        pytest.param(LastFile(None, 100, "ab" * 32), THEN, 100, None, id="no time remembered"),
        pytest.param(LastFile(None, 100, "ab" * 32), None, 100, None, id="no time of either"),
        pytest.param(LastFile(THEN, None, "ab" * 32), THEN, None, None, id="no size of either"),
        pytest.param(LastFile(THEN, 0, "ab" * 32), THEN, 0, "UNCHANGED_MTIME", id="a size of zero is a size"),
    ],
)
def test_unchanged_by_stat(last, modified_at, size, reason):
    assert unchanged_by_stat(last, modified_at=modified_at, size=size) == reason


@pytest.mark.spec("002 9.5")
@pytest.mark.parametrize(
    "last, sha256, reason",
    [
        pytest.param(LAST, "ab" * 32, "UNCHANGED_HASH", id="the same bytes"),
        pytest.param(LAST, "cd" * 32, None, id="other bytes"),
        pytest.param(NONE, "ab" * 32, None, id="no file before"),
    ],
)
def test_unchanged_by_hash(last, sha256, reason):
    assert unchanged_by_hash(last, sha256) == reason
