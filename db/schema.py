"""The declared schema: tables, and after them the functions, triggers and views of `db/sql/schema/`."""

from collections.abc import Iterator
from importlib.resources import files

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql

import db.sql
from db.tables import catalogue, ledger, shelf  # noqa: F401 - they declare themselves in the metadata
from db.tables.base import metadata

__all__ = ["metadata", "statements"]


def statements() -> Iterator[str]:
    """Everything that makes an empty database a feedmill database, in order."""
    tables: list[str] = []

    def note(ddl: sa.schema.ExecutableDDLElement, *_args: object, **_options: object) -> None:
        tables.append(str(ddl.compile(dialect=postgresql.dialect())).strip() + ";")  # type: ignore[no-untyped-call]  # SQLAlchemy leaves the constructor untyped

    engine = sa.create_mock_engine("postgresql+psycopg://", note)
    metadata.create_all(engine, checkfirst=False)
    yield from tables
    for file in sorted(files(db.sql).joinpath("schema").iterdir(), key=lambda file: file.name):
        yield file.read_text(encoding="utf-8").strip()


if __name__ == "__main__":
    import sys

    sys.stdout.write("\n\n".join(statements()) + "\n")
