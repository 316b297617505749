"""${message}."""

from alembic import op

revision = ${repr(up_revision)}
down_revision = ${repr(down_revision)}


def upgrade() -> None:
    """Say what changes for an operator, then change it."""
    ${upgrades if upgrades else "op.execute('')"}
