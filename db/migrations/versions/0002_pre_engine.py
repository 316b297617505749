"""A limit of its own for the products of a file."""

from db.migrations.files import run_file

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    run_file(__file__)
