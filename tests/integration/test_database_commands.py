"""`feedmill db check` on a database that somebody damaged, and `db url` in a home where nothing is yet."""

import psycopg
import pytest

from db import embedded, health
from db.sql import load_sql


@pytest.fixture
def fresh_home(tmp_path, monkeypatch):
    monkeypatch.setenv("FEEDMILL_HOME", str(tmp_path / "home"))
    monkeypatch.delenv("FEEDMILL_DATABASE_URL", raising=False)
    yield
    embedded.remove()


@pytest.mark.parametrize(
    "damage, missing",
    [
        pytest.param(
            "DROP TRIGGER prices_append_only ON prices",
            "trigger prices_append_only of prices",
            id="a trigger is gone",
        ),
        pytest.param(
            "ALTER TABLE prices DISABLE TRIGGER prices_append_only",
            "trigger prices_append_only of prices",
            id="a trigger is switched off",
        ),
        pytest.param(
            "DROP INDEX prices_affiliate_dedupe", "index prices_affiliate_dedupe of prices", id="a unique index is gone"
        ),
        pytest.param(
            "ALTER TABLE prices DROP CONSTRAINT prices_scale_range",
            "constraint prices_scale_range of prices",
            id="a check is gone",
        ),
        pytest.param(
            "ALTER TABLE ingestion_runs DROP COLUMN worker_instance CASCADE",
            "column worker_instance of ingestion_runs",
            id="a column is gone",
        ),
        pytest.param("DROP FUNCTION offers_at CASCADE", "function offers_at", id="a function is gone"),
        pytest.param("DROP SEQUENCE lock_ids CASCADE", "lock_ids", id="a sequence is gone"),
    ],
)
def test_db_check_names_what_was_dropped(feedmill, conn, damage, missing):
    conn.execute(damage)
    code, document, line = feedmill("db", "check")
    assert (code, document["ok"]) == (1, False)
    assert missing in document["absent"]
    assert missing in line


def test_db_check_names_a_table_without_all_that_it_had(feedmill, conn):
    conn.execute("DROP TABLE setting_log")
    _code, document, _line = feedmill("db", "check")
    assert document["absent"] == ["setting_log"]


def test_db_check_minds_nothing_that_somebody_added(feedmill, conn):
    conn.execute("CREATE TABLE notes (words text UNIQUE); ALTER TABLE prices ADD COLUMN note text")
    assert feedmill("db", "check")[1]["absent"] == []


@pytest.mark.parametrize("kind", ["column", "trigger", "function"])
def test_declared_knows_every_part_of_a_migrated_database(any_conn, kind):
    """So nothing that a migration makes escapes the check because its declaration reads a little differently."""
    views = {row["relname"] for row in any_conn.execute("SELECT relname FROM pg_class WHERE relkind <> 'r'")}
    there = {health.Part(**row) for row in any_conn.execute(load_sql("health/select_parts"))}
    named = {part for part in there if part.kind == kind and part.relation not in views | {"alembic_version"}}
    assert {part for part in health.declared() if part.kind == kind} == named


def test_db_url_in_a_fresh_home_leads_to_the_relations(feedmill, fresh_home):
    code, document, _line = feedmill("db", "url")
    assert (code, document["is_embedded"]) == (0, True)
    with psycopg.connect(document["url"]) as connection:
        assert connection.execute("SELECT count(*) FROM active_offers").fetchone() == (0,)
