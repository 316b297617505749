"""The first schema: the ledger, the catalogue, presence and prices, and the tenant that everybody starts with."""

from alembic import op

from db.migrations.files import run_file

revision = "0001"
down_revision = None


def upgrade() -> None:
    run_file(__file__)
    op.execute("INSERT INTO tenants (id, name, created_at) VALUES ('default', 'Default', now())")
