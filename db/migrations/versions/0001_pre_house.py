"""The first schema: the ledger, the catalogue, presence and prices, and the tenant that everybody starts with."""

from pathlib import Path

from alembic import op

revision = "0001"
down_revision = None


def upgrade() -> None:
    """Run the file beside this one, as it was when this migration was written."""
    driver = op.get_bind().connection.driver_connection  # SQLAlchemy would send the file as one prepared statement
    assert driver is not None  # noqa: S101 - a migration always has a connection
    driver.execute(Path(__file__).with_suffix(".sql").read_text(encoding="utf-8"))
    op.execute("INSERT INTO tenants (id, name, created_at) VALUES ('default', 'Default', now())")
