"""One temporary Prefect server for all tests of a session that call flows."""

from collections.abc import Iterator

import pytest

from feedmill.prefect_api import temporary_prefect_api


@pytest.fixture(scope="session")
def prefect_session() -> Iterator[str]:
    """The address of the API. Never a configured server: tests must not write into a team's."""
    with temporary_prefect_api() as url:
        yield url


def pytest_itemcollected(item: pytest.Item) -> None:
    """All on one worker: a second server would cost more than what two workers would gain.

    Here and not when items are modified, because pytest-xdist reads the groups before any other plugin's turn then.
    """
    if "prefect_session" in getattr(item, "fixturenames", ()):
        item.add_marker(pytest.mark.xdist_group("prefect"))
