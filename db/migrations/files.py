"""Migrations that are written in SQL."""

from pathlib import Path

from alembic import op


def run_file(migration: str) -> None:
    """Run the SQL file beside a migration, as it was when the migration was written."""
    driver = op.get_bind().connection.driver_connection  # SQLAlchemy would send the file as one prepared statement
    assert driver is not None  # noqa: S101 - a migration always has a connection
    driver.execute(Path(migration).with_suffix(".sql").read_text(encoding="utf-8"))
