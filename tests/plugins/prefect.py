"""One temporary Prefect server for all tests of a session that call flows."""

from collections.abc import Iterator

import pytest

from feedmill.prefect_api import temporary_prefect_api


@pytest.fixture(scope="session")
def prefect_session() -> Iterator[str]:
    """The address of the API. Never a configured server: tests must not write into a team's."""
    with temporary_prefect_api() as url:
        yield url


@pytest.hookimpl(tryfirst=True)  # before pytest-xdist reads the groups
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """All on one worker: a second server would cost more than what two workers would gain."""
    for item in items:
        if "prefect_session" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.xdist_group("prefect"))
