"""Where Alembic enters: it is handed a connection by `db.migrate`, or takes the door of feedmill itself."""

import sqlalchemy as sa
from alembic import context

from db import engine
from db.schema import metadata


def _run(connection: sa.Connection) -> None:
    context.configure(connection=connection, target_metadata=metadata, transaction_per_migration=True)
    with context.begin_transaction():
        context.run_migrations()


handed = context.config.attributes.get("connection")
if handed is not None:
    _run(handed)
else:
    with engine.sqlalchemy_engine(engine.url()).connect() as own:
        _run(own)
        own.commit()
