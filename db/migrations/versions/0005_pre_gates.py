"""What the gates on prices, currencies and stock count."""

from db.migrations.files import run_file

revision = "0005"
down_revision = "0004"


def upgrade() -> None:
    run_file(__file__)
