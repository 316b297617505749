"""What a database misses of the declared schema, by name: what somebody dropped or switched off by hand."""

import re
from collections.abc import Iterator
from typing import NamedTuple

from db import schema
from db.engine import Connection
from db.sql import load_sql

_RELATION = re.compile(r"^CREATE (?:VIEW|TABLE|SEQUENCE) (\w+)", re.MULTILINE)
_INDEX = re.compile(r"^CREATE UNIQUE INDEX (\w+) ON (\w+)", re.MULTILINE)
_TRIGGER = re.compile(r"^CREATE TRIGGER (\w+) [^;]*? ON (\w+)", re.MULTILINE)
_FUNCTION = re.compile(r"^CREATE FUNCTION (\w+)", re.MULTILINE)


class Part(NamedTuple):
    """Something that the schema has by name: a relation, or what belongs to one."""

    kind: str
    relation: str  # empty for what stands by itself
    name: str

    def __str__(self) -> str:
        whose = f" of {self.relation}" if self.relation else ""
        return self.name if self.kind == "relation" else f"{self.kind} {self.name}{whose}"


def absent(conn: Connection) -> list[str]:
    """What the database misses; of a relation that is gone only its name, not all that it had."""
    there = {Part(**row) for row in conn.execute(load_sql("health/select_parts"))}
    gone = [part for part in declared() if part not in there]
    names = {part.name for part in gone if part.kind == "relation"}
    return [str(part) for part in gone if part.relation not in names]


def declared() -> Iterator[Part]:
    """Every part of the declared schema, relations first."""
    text = "\n".join(schema.statements())
    yield from (Part("relation", "", name) for name in _RELATION.findall(text))
    for table in schema.metadata.sorted_tables:
        yield from (Part("column", table.name, column.name) for column in table.columns)
        yield from (Part("constraint", table.name, str(constraint.name)) for constraint in table.constraints)
    yield from (Part("index", table, name) for name, table in _INDEX.findall(text))
    yield from (Part("trigger", table, name) for name, table in _TRIGGER.findall(text))
    yield from (Part("function", "", name) for name in _FUNCTION.findall(text))
