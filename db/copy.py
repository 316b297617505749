"""Frames to and from Postgres by COPY."""

import io
from collections.abc import Mapping
from typing import Any, LiteralString

import polars as pl

from db.engine import Connection

_NULL = "\\N"
_PIECE_BYTES = 4 * 1024 * 1024  # of text that waits to become a frame


def copy_in(conn: Connection, statement: LiteralString, frame: pl.DataFrame) -> int:
    """Send a frame through a COPY … FROM STDIN of CSV; how many rows the server took."""
    if not frame.height:
        return 0
    text = frame.write_csv(include_header=False, null_value=_NULL, quote_style="non_numeric")
    with conn.cursor() as cursor:
        with cursor.copy(statement) as stream:
            stream.write(text.encode())
        return cursor.rowcount


def copy_out(
    conn: Connection, statement: LiteralString, params: Mapping[str, Any], schema: dict[Any, Any]
) -> pl.DataFrame:
    """The rows of a COPY … TO STDOUT of CSV, as a frame of this schema; the text is never whole in memory."""
    frames: list[pl.DataFrame] = []
    held: list[bytes] = []
    size = 0
    with conn.cursor() as cursor, cursor.copy(statement, params) as stream:
        for row in stream:
            held.append(bytes(row))
            size += len(row)
            if size > _PIECE_BYTES:
                frames.append(_frame(held, schema))
                held, size = [], 0
    if held:
        frames.append(_frame(held, schema))
    return pl.concat(frames) if frames else pl.DataFrame(schema=schema)


def _frame(rows: list[bytes], schema: dict[Any, Any]) -> pl.DataFrame:
    """Postgres writes booleans and times in ways of its own: they come as 0 or 1, and as microseconds."""
    plain = {name: pl.Int64 if _is_coded(kind) else kind for name, kind in schema.items()}
    frame = pl.read_csv(io.BytesIO(b"".join(rows)), has_header=False, schema=plain)
    return frame.cast(schema)


def _is_coded(kind: Any) -> bool:
    return kind == pl.Boolean or isinstance(kind, pl.Datetime)
