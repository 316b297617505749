"""Bringing a database to the schema of this version, and saying how far it is from it."""

import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib.resources import files
from typing import Any

import psycopg
import sqlalchemy as sa

from db.errors import RefusedError

# Serialises migrations of one database; far from the lock ids, which count up from one.
MIGRATION_LOCK = -1

_REVISION_FILE = re.compile(r"^(\d{4})_(?:pre|post)_\w+\.py$")


def revisions() -> list[str]:
    """Every revision that this version knows, oldest first."""
    found = (_REVISION_FILE.match(file.name) for file in files("db.migrations.versions").iterdir())
    return sorted(match.group(1) for match in found if match)


def current(conn: psycopg.Connection[dict[str, object]]) -> str | None:
    """The revision of the database, None for an empty one."""
    there = conn.execute("SELECT to_regclass('alembic_version') IS NOT NULL AS there").fetchone()
    if not there or not there["there"]:
        return None
    row = conn.execute("SELECT version_num FROM alembic_version").fetchone()
    return str(row["version_num"]) if row else None


def missing(conn: psycopg.Connection[dict[str, object]]) -> list[str]:
    """The revisions that the database lacks; refuses one that is newer than this version."""
    known, at = revisions(), current(conn)
    if at is not None and at not in known:
        message = f"the database is at schema {at}, which this feedmill does not know (newest here: {known[-1]})"
        raise RefusedError(message, code="SCHEMA_NEWER", hint="install the feedmill that made it, or a newer one")
    return known[known.index(at) + 1 :] if at else known


def migrate(connection: sa.Connection) -> None:
    """Apply what is missing, each migration in its own transaction; one process at a time."""
    from alembic import command  # noqa: PLC0415 - half a second that only a migration should pay
    from alembic.config import Config  # noqa: PLC0415

    config = Config()
    config.set_main_option("script_location", "db:migrations")
    config.attributes["connection"] = connection
    with _taking_turns(connection):
        command.upgrade(config, "head")
        connection.commit()


@contextmanager
def _taking_turns(connection: sa.Connection) -> Iterator[None]:
    """Hold the lock of migrations. Through the driver: after an error SQLAlchemy would refuse, or connect anew."""
    driver: Any = connection.connection.driver_connection
    driver.execute("SELECT pg_advisory_lock(%s)", [MIGRATION_LOCK])
    driver.commit()
    try:
        yield
    finally:
        with suppress(psycopg.OperationalError):  # the session is gone, and the lock with it; the cause is on its way
            driver.rollback()  # of what failed, or the server would refuse to unlock
            driver.execute("SELECT pg_advisory_unlock(%s)", [MIGRATION_LOCK])
            driver.commit()
