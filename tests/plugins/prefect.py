"""One temporary Prefect server for all tests of a session, or of a worker of it, that call flows."""

from collections.abc import Iterator

import pytest

from feedmill.prefect_api import temporary_prefect_api


@pytest.fixture(scope="session")
def prefect_session() -> Iterator[str]:
    """The address of the API. Never a configured server: tests must not write into a team's."""
    with temporary_prefect_api() as url:
        yield url
