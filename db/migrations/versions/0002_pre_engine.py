"""What cheap writes need: no foreign keys on hot tables, an index in writing order; a limit of products."""

from db.migrations.files import run_file

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    run_file(__file__)
