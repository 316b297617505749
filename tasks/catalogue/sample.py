"""The beginning of a file, cut where a record ends, and what the reader makes of it."""

import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from tasks import files
from tasks.catalogue import money
from tasks.catalogue.dialect import EmptyFileError, detect
from tasks.catalogue.parse import ROW, Limits, parts
from tasks.catalogue.survey import Reading, open_file, read_as_detected, values
from tasks.errors import FileDamagedError
from tasks.gzip_check import GZIP_MAGIC, GZIP_WINDOW

_MOST_INFLATED = 8 * 1024 * 1024


@dataclass(frozen=True)
class FirstRows:
    """What the first records of a file are; `rows` has our fields with `row_number` and `rejection`."""

    detected: dict[str, Any]
    mapped: dict[str, list[str]]  # field to columns, the best first
    unmapped: list[str]
    rows: pl.DataFrame


def first_rows(path: Path, *, most: int, is_whole: bool) -> FirstRows:
    """The reader on the first records of a plain text. `is_whole` if the text is the whole file."""
    has_quotes = detect(path).quote is not None
    with files.open_for_read(path) as file:
        text = file.read()
    with files.open_for_write(path) as file:
        file.write(whole_records(text, most=most + 1, has_quotes=has_quotes, is_whole=is_whole))
    limits = Limits(max_rows=most, max_bytes=_MOST_INFLATED)
    return read_as_detected(path, lambda dialect: _read(open_file(path, dialect, limits)))


def _read(reading: Reading) -> FirstRows:
    found = []
    header = list(reading.mapping.header)
    for part in parts(reading.path, reading.dialect, header, reading.limits, wanted=reading.mapping.wanted):
        broken = [{ROW: record.row_number, "rejection": record.code} for record in part.piece.broken]
        found += [values(part, reading), pl.DataFrame(broken, schema={ROW: pl.UInt32, "rejection": pl.String})]
    if not any(rows.height for rows in found):
        raise EmptyFileError
    amounts = {name: money.text_of(name) for name in ("price", "original_price")}
    rows = (
        pl.concat(found, how="diagonal").sort(ROW).with_columns(**amounts, currency=pl.col("currency").cast(pl.String))
    )
    mapping = reading.mapping
    return FirstRows(reading.dialect.document(), mapping.document(), mapping.unused, rows)


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
    while head[:2] == GZIP_MAGIC and len(text) < _MOST_INFLATED:
        member = zlib.decompressobj(GZIP_WINDOW)
        try:
            text += member.decompress(head, _MOST_INFLATED - len(text))
        except zlib.error as error:
            message = f"the file is damaged gzip: {error}"
            raise FileDamagedError(message) from error
        head = member.unused_data
    return text
