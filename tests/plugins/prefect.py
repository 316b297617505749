"""One temporary Prefect server for all tests of a session, or of a worker of it, that call flows."""

import os
import shutil
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from db.home import home
from db.postgres.filelock import holding
from feedmill.prefect_api import temporary_prefect_api


@pytest.fixture(scope="session")
def prefect_session(tmp_path_factory) -> Iterator[str]:
    """The address of the API. Never a configured server: tests must not write into a team's."""
    common = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        common = common.parent
    with ExitStack() as stack:
        with holding(common / "prefect.lock"):  # one worker makes the database of a server, the others copy it
            _copied(common / "prefect", home() / "prefect")
            url = stack.enter_context(temporary_prefect_api())
            _copied(home() / "prefect", common / "prefect")
        yield url


def _copied(source: Path, target: Path) -> None:
    if source.exists() and not target.exists():
        shutil.copytree(source, target)
