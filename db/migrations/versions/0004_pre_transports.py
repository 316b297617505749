"""What a feed logs in with besides passwords, and which old SSH algorithms it accepts."""

from db.migrations.files import run_file

revision = "0004"
down_revision = "0003"


def upgrade() -> None:
    run_file(__file__)
