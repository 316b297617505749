"""What every test may use: a Postgres of the session's own, and a fresh database in it for each test."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

for inherited in [name for name in os.environ if name.startswith(("PREFECT_", "PG", "FEEDMILL_", "CREDENTIAL_"))]:
    del os.environ[inherited]

from db import engine  # noqa: E402 - after the environment is clean
from tests.postgres import Server, served  # noqa: E402


@pytest.fixture(scope="session", autouse=True)
def session_home(tmp_path_factory):
    """Nothing in a test session may touch the home of whoever runs it."""
    os.environ["FEEDMILL_HOME"] = str(tmp_path_factory.mktemp("home"))


@pytest.fixture(scope="session")
def embedded_server(tmp_path_factory):
    """The Postgres that comes with feedmill."""
    with served(tmp_path_factory.mktemp("postgres"), bin_dir=None) as server:
        yield server


@pytest.fixture(scope="session")
def path_server(tmp_path_factory):
    """The Postgres on PATH, where there is one."""
    with served(tmp_path_factory.mktemp("postgres-on-path"), bin_dir=postgres_on_path()) as server:
        yield server


def postgres_on_path() -> Path:
    found = shutil.which("postgres")
    if found is None:
        pytest.skip("no Postgres on PATH")
    version = subprocess.run([found, "--version"], capture_output=True, text=True, check=True).stdout.split()[2]
    if int(version.split(".")[0]) < engine.OLDEST_POSTGRES:
        pytest.skip(f"the Postgres on PATH is {version}")
    return Path(found).resolve().parent


@pytest.fixture(params=["embedded_server", "path_server"], ids=["embedded Postgres", "Postgres on PATH"])
def any_server(request) -> Server:
    """Each Postgres in turn: for what must hold on every version."""
    return request.getfixturevalue(request.param)


@pytest.fixture
def database(embedded_server, monkeypatch):
    """A fresh, migrated database; FEEDMILL_DATABASE_URL names it."""
    with embedded_server.lent() as url:
        monkeypatch.setenv("FEEDMILL_DATABASE_URL", url)
        yield url


@pytest.fixture
def conn(database):
    with engine.open_connection(database) as connection:
        yield connection


@pytest.fixture
def any_conn(any_server):
    """A connection on each Postgres in turn, in a transaction that is rolled back: for tests of single statements.

    A statement that must fail goes into a `with any_conn.transaction()` of its own if the test goes on after it.
    """
    with engine.open_connection(any_server.migrated_url) as connection, connection.transaction(force_rollback=True):
        yield connection


@pytest.fixture
def empty_database(any_server):
    """The address of a database with nothing in it, on each Postgres in turn."""
    with any_server.fresh(template="template0") as url:
        yield url
