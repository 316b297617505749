"""The words in which the tables are declared."""

from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql as pg

from db.enums import Word

metadata = sa.MetaData(
    naming_convention={
        "pk": "%(table_name)s_pkey",
        "uq": "%(table_name)s_%(column_0_N_name)s_key",
        "fk": "%(table_name)s_%(column_0_N_name)s_fkey",
        "ck": "%(table_name)s_%(constraint_name)s",
    }
)

# One sequence over all pipelines, so that no two of them can mean the same advisory lock.
lock_ids = sa.Sequence("lock_ids", data_type=sa.BigInteger(), metadata=metadata)


def serial(name: str = "id") -> sa.Column[int]:
    return sa.Column(name, sa.BigInteger, sa.Identity(always=True), primary_key=True)


def uuid_key(name: str = "id", *foreign: sa.ForeignKey) -> sa.Column[Any]:
    return sa.Column(name, pg.UUID(as_uuid=True), *foreign, primary_key=True, comment="UUID version 7")


def uuid(name: str, *foreign: sa.ForeignKey, comment: str | None = None) -> sa.Column[Any]:
    return sa.Column(name, pg.UUID(as_uuid=True), *foreign, comment=comment)


def moment(name: str, *, required: bool = False, comment: str | None = None) -> sa.Column[Any]:
    """A time. No default: every time comes from the clock of the code, never from the database's."""
    return sa.Column(name, sa.DateTime(timezone=True), nullable=not required, comment=comment)


def text(name: str, *, required: bool = False, comment: str | None = None) -> sa.Column[str]:
    return sa.Column(name, sa.Text, nullable=not required, comment=comment)


def count(name: str, *, big: bool = False, comment: str | None = None) -> list[sa.schema.SchemaItem]:
    """A number that was counted: unknown while null, never negative."""
    kind = sa.BigInteger if big else sa.Integer
    return [sa.Column(name, kind, comment=comment), sa.CheckConstraint(f"{name} >= 0", name=f"{name}_counted")]


def flag(name: str, *, default: bool = False, comment: str | None = None) -> sa.Column[bool]:
    return sa.Column(
        name, sa.Boolean, nullable=False, server_default=sa.true() if default else sa.false(), comment=comment
    )


def json(name: str, *, default: str | None = None, comment: str | None = None) -> sa.Column[Any]:
    server_default = sa.text(f"'{default}'::jsonb") if default else None
    return sa.Column(name, pg.JSONB, nullable=default is None, server_default=server_default, comment=comment)


def word(
    name: str, words: type[Word], *, required: bool = True, default: Word | None = None
) -> list[sa.schema.SchemaItem]:
    """A column that holds one of the words, with the transition of each in its comment."""
    listed = ", ".join(f"'{w.value}'" for w in words)
    comment = "\n".join(f"{w.value}: {w.transition}" for w in words)
    server_default = default.value if default else None
    return [
        sa.Column(name, sa.Text, nullable=not required, server_default=server_default, comment=comment),
        sa.CheckConstraint(f"{name} IN ({listed})", name=f"{name}_known"),
    ]
