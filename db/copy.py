"""Frames to and from Postgres by COPY."""

import io
from collections.abc import Mapping
from typing import Any, LiteralString

import polars as pl

from db.engine import Connection

_NULL = "\\N"


def copy_in(conn: Connection, statement: LiteralString, frame: pl.DataFrame) -> None:
    """Send a frame through a COPY … FROM STDIN of CSV."""
    text = frame.write_csv(include_header=False, null_value=_NULL, quote_style="non_numeric")
    with conn.cursor() as cursor, cursor.copy(statement) as stream:
        stream.write(text.encode())


def copy_out(
    conn: Connection, statement: LiteralString, params: Mapping[str, Any], schema: Mapping[str, Any]
) -> pl.DataFrame:
    """The rows of a COPY … TO STDOUT of CSV, as a frame of this schema."""
    with conn.cursor() as cursor, cursor.copy(statement, params) as stream:
        text = b"".join(bytes(block) for block in stream)
    if not text:
        return pl.DataFrame(schema=schema)
    return pl.read_csv(io.BytesIO(text), has_header=False, schema=schema)
