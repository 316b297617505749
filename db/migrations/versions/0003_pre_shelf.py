"""The shelf: cheap promotion, and offers that are found page by page."""

from db.migrations.files import run_file

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    run_file(__file__)
