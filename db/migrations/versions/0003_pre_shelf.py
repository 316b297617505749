"""The shelf: cheap promotion, and offers that are found page by page."""

from pathlib import Path

from alembic import op

revision = "0003"
down_revision = "0001"


def upgrade() -> None:
    """Run the file beside this one, as it was when this migration was written."""
    driver = op.get_bind().connection.driver_connection  # SQLAlchemy would send the file as one prepared statement
    assert driver is not None  # noqa: S101 - a migration always has a connection
    driver.execute(Path(__file__).with_suffix(".sql").read_text(encoding="utf-8"))
