"""The door to the database: what every session is given, and what a command says when the session goes wrong."""

from urllib.parse import quote

import psycopg
import pytest

from db import engine, migrate
from db.errors import ConnectionLostError, DatabaseError

READERS = [
    ["feeds", "list"],
    ["feeds", "show", "northfork"],
    ["offers", "northfork"],
    ["runs"],
    ["cleanup"],
    ["request", "northfork"],
    ["dispatch"],
]
every_reader = pytest.mark.parametrize("command", READERS, ids=" ".join)


@pytest.fixture
def stranger(embedded_server, monkeypatch):
    """A role that may look at the version of the schema and at nothing else; FEEDMILL_DATABASE_URL names it."""
    embedded_server.run("CREATE ROLE stranger")
    with embedded_server.clone() as url:
        with engine.open_connection(url) as owner:
            owner.execute("GRANT SELECT ON alembic_version TO stranger")
        monkeypatch.setenv("FEEDMILL_DATABASE_URL", f"{url}&options={quote('-c role=stranger')}")
        yield
    embedded_server.run("DROP ROLE stranger")


def end(conn, address):
    with psycopg.connect(address) as other:
        other.execute("SELECT pg_terminate_backend(%s, 10000)", [conn.info.backend_pid])


@every_reader
def test_a_session_that_is_ended_is_told_in_one_line(feedmill, database, monkeypatch, command):
    monkeypatch.setattr(engine, "_check_schema", end)
    code, document, line = feedmill(*command)
    assert (code, document["error"]["code"]) == (1, "CONNECTION_LOST")
    assert "session" in line


@pytest.mark.parametrize("command", [["db", "check"], ["db", "migrate"], ["feeds", "list"]], ids=" ".join)
def test_a_session_that_is_ended_before_its_first_question(feedmill, database, monkeypatch, command):
    current = migrate.current

    def ended(conn):
        end(conn, database)
        return current(conn)

    monkeypatch.setattr(migrate, "current", ended)
    code, document, _line = feedmill(*command)
    assert (code, document["error"]["code"]) == (1, "CONNECTION_LOST")


@every_reader
def test_a_right_that_is_missing_is_told_in_one_line(feedmill, stranger, command):
    code, document, line = feedmill(*command)
    assert (code, document["error"]["code"]) == (1, "STATEMENT_REFUSED")
    assert "permission denied" in line
    assert "granted" in document["error"]["hint"]


def test_connect_tells_no_mistake_of_ours_as_a_wrong_address(database):
    with pytest.raises(psycopg.ProgrammingError, match="placeholder"), engine.connect() as conn:
        conn.execute("SELECT %s, %s", [1])


def test_connect_closes_a_session_that_failed(database):
    with pytest.raises(ConnectionLostError), engine.connect() as conn:
        end(conn, database)
        engine.ping(conn)
    with pytest.raises(DatabaseError, match="does not exist"), engine.connect() as conn:
        conn.execute("SELECT * FROM nothing_of_that_name")
    assert conn.closed


def test_every_session_speaks_utc_whatever_its_address_asks_for(database, monkeypatch):
    monkeypatch.setenv("FEEDMILL_DATABASE_URL", f"{database}&options={quote('-c timezone=Asia/Tokyo')}")
    with engine.connect() as conn:
        assert conn.execute("SHOW timezone").fetchone() == {"TimeZone": "UTC"}


@pytest.mark.parametrize("how", ["in the address", "in PGOPTIONS"])
def test_a_session_keeps_the_settings_of_its_user(database, monkeypatch, how):
    wanted = "-c work_mem=5MB"
    if how == "in PGOPTIONS":
        monkeypatch.setenv("PGOPTIONS", wanted)
    else:
        monkeypatch.setenv("FEEDMILL_DATABASE_URL", f"{database}&options={quote(wanted)}")
    with engine.connect() as conn:
        assert conn.execute("SHOW work_mem").fetchone() == {"work_mem": "5MB"}
        assert conn.execute("SHOW timezone").fetchone() == {"TimeZone": "UTC"}


def test_a_session_notices_a_network_that_fell_silent(conn):
    given = conn.info.get_parameters()
    names = ("keepalives_idle", "keepalives_interval", "keepalives_count", "tcp_user_timeout", "connect_timeout")
    assert [given[name] for name in names] == ["30", "10", "3", "60000", "10"]


def test_a_server_that_is_too_old_is_refused(database, monkeypatch):
    """Every server at hand is recent enough, so the least version is moved."""
    with engine.connect() as conn:
        newer = conn.info.server_version // 10_000 + 1
    monkeypatch.setattr(engine, "OLDEST_POSTGRES", newer)
    with pytest.raises(DatabaseError, match=f"needs {newer}") as refused:
        engine.connect()
    assert refused.value.code == "POSTGRES_TOO_OLD"


def test_the_least_version_of_a_server_is_fifteen():
    assert engine.OLDEST_POSTGRES == 15
