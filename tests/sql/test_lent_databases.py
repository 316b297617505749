"""A database that tests are lent one after another is, each time, as a new one."""

import psycopg
import pytest

from db import engine
from feedmill import cli, contract
from tests.mill import START

ADD = ("feeds", "add", "northfork", "--retailer", "Northfork", "--url", "file:///x.csv", "--at", START.isoformat())


@pytest.fixture
def lend(embedded_server, monkeypatch):
    """Use a database as a test does; which one it was."""

    def use(*statements):
        with embedded_server.lent() as url, engine.open_connection(url) as conn:
            monkeypatch.setenv("FEEDMILL_DATABASE_URL", url)
            assert contract.run(cli.app, ADD) == 0  # refused if anybody had this key before
            for statement in statements:
                conn.execute(statement)
            return which(conn)

    return use


def which(conn):
    """The same for as long as a database exists, under whatever name."""
    return conn.execute("SELECT oid FROM pg_database WHERE datname = current_database()").fetchone()["oid"]


def contents(conn):
    """Every row, and where every sequence stands."""
    tables = conn.execute("SELECT tablename AS name FROM pg_tables WHERE schemaname = 'public' ORDER BY 1").fetchall()
    rows = {table["name"]: conn.execute(f'SELECT * FROM "{table["name"]}"').fetchall() for table in tables}  # noqa: S608
    sequences = conn.execute("SELECT sequencename, last_value FROM pg_sequences ORDER BY 1").fetchall()
    return rows, sequences


def test_rows_and_sequences_are_as_at_first(embedded_server, lend):
    used = lend("UPDATE tenants SET name = 'Other'", "INSERT INTO tenants VALUES ('second', 'Second', 'free', now())")
    with embedded_server.clone() as url, engine.open_connection(url) as new:
        at_first = contents(new)
    with embedded_server.lent() as url, engine.open_connection(url) as again:
        assert which(again) == used
        assert contents(again) == at_first


def test_what_refuses_to_delete_refuses_again(lend):
    used = lend()
    with pytest.raises(psycopg.errors.DatabaseError, match="append-only"):
        lend("DELETE FROM audit_events")
    assert lend() == used


def test_sessions_of_the_last_user_are_gone(embedded_server, lend):
    used = lend()
    with embedded_server.lent() as url:
        left = psycopg.connect(url)
        left.execute("SELECT pg_advisory_lock(4711)")
    with embedded_server.lent() as again, engine.open_connection(again) as now:
        assert which(now) == used
        with pytest.raises(psycopg.OperationalError, match="does not exist"):
            psycopg.connect(url)
        assert now.execute("SELECT count(*) AS held FROM pg_locks WHERE locktype = 'advisory'").fetchone()["held"] == 0
    left.close()


@pytest.mark.parametrize(
    "statement",
    [
        pytest.param("CREATE TABLE notes (words text)", id="a table more"),
        pytest.param("DROP VIEW active_offers", id="a view less"),
        pytest.param("ALTER TABLE tenants ADD CONSTRAINT no CHECK (plan <> 'x')", id="a check more"),
        pytest.param("ALTER TABLE tenants ALTER plan DROP NOT NULL", id="a column that may be empty"),
        pytest.param("ALTER SEQUENCE lock_ids INCREMENT 2", id="a sequence with larger steps"),
        pytest.param("ALTER TABLE tenants ENABLE ROW LEVEL SECURITY", id="rows that are guarded"),
        pytest.param("GRANT SELECT ON tenants TO PUBLIC", id="a grant"),
        pytest.param("COMMENT ON TABLE tenants IS 'other'", id="a comment"),
        pytest.param("ALTER TABLE prices DISABLE TRIGGER prices_append_only", id="a trigger switched off"),
        pytest.param("CREATE FUNCTION one() RETURNS int LANGUAGE sql RETURN 1", id="a function more"),
        pytest.param(
            "DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET work_mem = 64', current_database()); END $$",
            id="a setting",
        ),
        pytest.param(
            "INSERT INTO retailers (tenant_id, name, created_at) SELECT 'default', generate_series(1, 6000), now()",
            id="very many rows",
        ),
    ],
)
def test_database_with_more_than_other_rows_is_not_lent_again(lend, statement):
    assert lend(statement) != lend()
