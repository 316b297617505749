"""The beginning of a file, cut where a record ends, and what the reader makes of it."""

import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from tasks import files
from tasks.catalogue import mapping, parse, validate
from tasks.errors import FileDamagedError

_GZIP_WINDOW = 16 + zlib.MAX_WBITS
_MOST_INFLATED = 8 * 1024 * 1024


@dataclass(frozen=True)
class FirstRows:
    """What the first records of a file are; `rows` has our fields with `row_number` and `rejection`."""

    detected: dict[str, Any]
    mapped: dict[str, str]  # field to column
    unmapped: list[str]
    rows: pl.DataFrame


def first_rows(path: Path, *, most: int, is_whole: bool) -> FirstRows:
    """The reader on the first records of a plain text. `is_whole` if the text is the whole file."""
    dialect = parse.detect(path)
    with files.open_for_read(path) as file:
        text = file.read()
    with files.open_for_write(path) as file:
        file.write(whole_records(text, most=most + 1, has_quotes=dialect.quote is not None, is_whole=is_whole))
    rows = parse.read_rows(path, dialect, max_rows=most)
    header = [name for name in rows.columns if name != parse.ROW]
    used = mapping.columns_used(header)
    values = validate.with_values(mapping.with_fields(rows, used))
    return FirstRows(dialect.document(), used, [name for name in header if name not in used.values()], values)


def whole_records(text: bytes, *, most: int, has_quotes: bool, is_whole: bool) -> bytes:
    """The first records, the header among them; what is left of one that was cut off is dropped."""
    kept = position = records = 0
    is_open = False
    for line in text.splitlines(keepends=True):
        position += len(line)
        is_open ^= has_quotes and line.count(b'"') % 2 == 1
        if not is_open and (is_whole or line.endswith((b"\n", b"\r"))):
            kept, records = position, records + 1
        if records == most:
            return text[:kept]
    return text if is_whole or not kept else text[:kept]


def inflated(head: bytes) -> bytes:
    """The text that the beginning of a gzip file holds, as far as it goes."""
    text = b""
    while head[:2] == parse.GZIP_MAGIC and len(text) < _MOST_INFLATED:
        member = zlib.decompressobj(_GZIP_WINDOW)
        try:
            text += member.decompress(head, _MOST_INFLATED - len(text))
        except zlib.error as error:
            message = f"the file is damaged gzip: {error}"
            raise FileDamagedError(message) from error
        head = member.unused_data
    return text
