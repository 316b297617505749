"""The first start of the embedded Postgres by root, on a machine where nothing of feedmill is yet."""

import os
import shutil
import stat
import tempfile
from pathlib import Path

import psycopg
import pytest

from db import embedded
from db.postgres import place

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="only root's databases lie outside the home")


@pytest.fixture
def machine(monkeypatch):
    """A folder that anybody may enter, unlike pytest's own; root's databases go below it."""
    folder = Path(tempfile.mkdtemp(prefix="fm-", dir="/tmp"))
    folder.chmod(0o755)
    monkeypatch.setattr(place, "SHARED", folder / "var" / "lib" / "feedmill")
    yield folder
    shutil.rmtree(folder)


@pytest.fixture
def closed_umask():
    """What a careful administrator has: files are for nobody else."""
    before = os.umask(0o077)
    yield
    os.umask(before)


def mode(folder):
    return stat.S_IMODE(folder.stat().st_mode)


def test_the_database_starts_under_a_closed_umask(machine, closed_umask):
    cluster = embedded.cluster_at(machine / "home")
    with cluster.locked():
        cluster.start()
        try:
            with psycopg.connect(cluster.url()) as connection:
                assert connection.execute("SELECT 1").fetchone() == (1,)
        finally:
            cluster.remove()
    assert [mode(folder) for folder in (place.SHARED, place.SHARED.parent)] == [0o711, 0o755]


def test_a_folder_that_was_there_is_not_opened(machine, closed_umask):
    place.SHARED.mkdir(parents=True)
    with place.shared_folder():
        assert [mode(folder) for folder in (place.SHARED, place.SHARED.parent)] == [0o700, 0o700]
