"""Migrating a database that makes it hard: rights that are missing, settings in its address, two at once."""

from concurrent.futures import ThreadPoolExecutor
from urllib.parse import quote

import pytest

from db import engine, migrate
from db.errors import DatabaseError, StatementRefusedError
from feedmill import cli, contract
from tests.toy import eventually

WAITING = "SELECT count(*) AS waiting FROM pg_locks WHERE locktype = 'advisory' AND NOT granted"


def with_options(url, options):
    return f"{url}&options={quote(options)}"


@pytest.fixture
def stranger(any_server):
    """A role that nobody granted anything."""
    any_server.run("CREATE ROLE stranger")
    yield "stranger"
    any_server.run("DROP ROLE stranger")


@pytest.fixture
def search_path(empty_database):
    """The address of an empty database in which everything goes to a schema of its own."""
    with engine.open_connection(empty_database) as conn:
        conn.execute("CREATE SCHEMA fm")
    return with_options(empty_database, "-c search_path=fm")


def test_migrate_says_which_right_is_missing(empty_database, stranger):
    with pytest.raises(StatementRefusedError, match="permission denied for schema public") as refused:
        engine.bring_up_to_date(with_options(empty_database, f"-c role={stranger}"))
    assert "grant" in refused.value.hint


def test_migrate_that_failed_has_let_go_of_its_lock(empty_database, stranger):
    engine_of_stranger = engine.sqlalchemy_engine(with_options(empty_database, f"-c role={stranger}"))
    with engine_of_stranger.connect() as connection, engine.open_connection(empty_database) as other:
        with pytest.raises(Exception, match="permission denied"):
            migrate.migrate(connection)
        held = other.execute("SELECT count(*) AS locks FROM pg_locks WHERE locktype = 'advisory'").fetchone()
        assert held["locks"] == 0


def test_migrate_says_that_its_session_was_ended(empty_database, monkeypatch):
    def end_session(config, _revision):
        connection = config.attributes["connection"]
        with engine.open_connection(empty_database) as other:
            pid = connection.connection.driver_connection.info.backend_pid
            other.execute("SELECT pg_terminate_backend(%s, 10000)", [pid])
        connection.exec_driver_sql("SELECT 1")

    monkeypatch.setattr("alembic.command.upgrade", end_session)
    with pytest.raises(DatabaseError, match="terminating connection"):
        engine.bring_up_to_date(empty_database)


def test_migrate_and_check_agree_on_the_search_path(search_path, monkeypatch, capsys):
    monkeypatch.setenv("FEEDMILL_DATABASE_URL", search_path)
    assert contract.run(cli.app, ["db", "migrate"]) == 0
    assert contract.run(cli.app, ["db", "check"]) == 0
    with engine.connect() as conn:
        found = conn.execute("SELECT DISTINCT schemaname FROM pg_tables WHERE tablename = 'prices'").fetchall()
    assert found == [{"schemaname": "fm"}]


def test_migrate_takes_the_host_that_answers(any_server, empty_database):
    folder = any_server.cluster.url().partition("host=")[2].partition("&")[0]
    name = empty_database.partition("@/")[2].partition("?")[0]
    address = f"postgresql://feedmill@%2Fnowhere:1,{folder}:5432/{name}"
    engine.bring_up_to_date(address)
    with engine.open_connection(address) as conn:
        assert migrate.missing(conn) == []


def test_a_migration_waits_for_the_one_under_way(empty_database):
    """The other is played by its lock: Alembic itself cannot run twice at once in one process."""
    with ThreadPoolExecutor(1) as threads, engine.open_connection(empty_database) as other:
        other.execute("SELECT pg_advisory_lock(%s)", [migrate.MIGRATION_LOCK])
        migration = threads.submit(engine.bring_up_to_date, empty_database)
        eventually(lambda: migration.done() or other.execute(WAITING).fetchone()["waiting"])
        assert migrate.current(other) is None
        other.execute("SELECT pg_advisory_unlock(%s)", [migrate.MIGRATION_LOCK])
        migration.result()
        assert migrate.missing(other) == []
