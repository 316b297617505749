"""The beginning of a file, and what the reader makes of it: the rows that a run would read."""

import io
import zlib
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import polars as pl

from tasks import files
from tasks.catalogue import money, validate
from tasks.catalogue.dialect import Dialect, EmptyFileError, UnreadableFileError, WrongGuessError, detect
from tasks.catalogue.mapping import with_fields
from tasks.catalogue.parse import ROW, Limits, Part, parts
from tasks.catalogue.survey import PRICES, Reading, open_file, read_as_detected
from tasks.errors import FileDamagedError
from tasks.gzip_check import GZIP_MAGIC, inflated_pieces

_MOST_INFLATED = 8 * 1024 * 1024
_BROKEN = {ROW: pl.UInt32, "rejection": pl.String}


@dataclass(frozen=True)
class FirstRows:
    """What the first records of a file are; `rows` has our fields with `row_number` and `rejection`."""

    detected: dict[str, Any]
    mapped: dict[str, list[str]]  # field to columns, the best first
    unmapped: list[str]
    rows: pl.DataFrame


@dataclass(frozen=True)
class Beginning:
    """The bytes of a file as far as they are here."""

    data: bytes
    is_whole: bool


def first_rows(path: Path, *, most: int, is_whole: bool) -> FirstRows:
    """The reader on a plain text, of which at most so many rows are kept. `is_whole` if the text is the whole file.

    Of one that is not, the rows end where only the rest of the file could tell how to go on.
    """
    if not is_whole:
        _close(path, detect(path))
    size = files.stat_file(path).st_size
    limits = Limits(max_rows=size, max_bytes=size)  # the sample is as long as it is: neither can be exceeded
    first = read_as_detected(path, lambda dialect: _read(open_file(path, dialect, limits)))
    rows = (first.rows if is_whole else first.rows.head(-1)).head(most)
    if not rows.height:
        raise EmptyFileError
    return replace(first, rows=rows)


def _close(path: Path, dialect: Dialect) -> None:
    """Cut the text behind its last line end, and put a quote there.

    If the text was cut off in a quoted cell, the quote closes it; if not, it is a record of its own. Either way the
    last record is the one that is not in the file, and all before it are.
    """
    line_end = dialect.line_end.encode(dialect.encoding)
    with files.open_for_read(path) as file:
        text = file.read()
    end = text.rfind(line_end)  # if there is none, no record is whole, wherever the cut is
    while end > 0 and end % len(line_end):  # in UTF-16, halves of two characters
        end = text.rfind(line_end, 0, end)
    with files.open_for_write(path) as file:
        file.write(text[:end] + line_end + '"'.encode(dialect.encoding) + line_end)


def _read(reading: Reading) -> FirstRows:
    found, evidence, mapping = [], money.Evidence(), reading.mapping
    header = list(mapping.header)
    for part in parts(reading.path, reading.dialect, header, reading.limits, wanted=mapping.wanted):
        fields = with_fields(part.cells, mapping)
        for name in PRICES:
            evidence.add(fields[name])
        found += [validate.with_values(fields, decimal=reading.dialect.decimal), _broken(part)]
    if evidence.contradicts(reading.dialect.decimal):
        raise WrongGuessError(replace(reading.dialect, decimal=evidence.decimal))
    amounts = {name: money.text_of(name) for name in ("price", "original_price")}
    rows = pl.concat(found, how="diagonal").sort(ROW)
    rows = rows.with_columns(**amounts, currency=pl.col("currency").cast(pl.String))
    return FirstRows(reading.dialect.document(), mapping.document(), mapping.unused, rows)


def _broken(part: Part) -> pl.DataFrame:
    broken = [{ROW: record.row_number, "rejection": record.code} for record in part.piece.broken]
    return pl.DataFrame(broken, schema=_BROKEN)


def inflated(packed: Beginning) -> Beginning:
    """The text that the beginning of a gzip file holds, as far as it goes; refuses what is damaged or packed twice."""
    text, is_whole = bytearray(), packed.is_whole
    try:
        for piece in inflated_pieces(io.BytesIO(packed.data)):
            text += piece
            if len(text) > _MOST_INFLATED:
                is_whole = False
                break
    except EOFError:
        is_whole = False
    except zlib.error as error:
        message = f"the file is damaged gzip: {error}"
        raise FileDamagedError(message) from error
    if text.startswith(GZIP_MAGIC):
        message = "the file is gzip inside gzip"
        raise UnreadableFileError(message, hint="ask for a file that is compressed once")
    return Beginning(bytes(text[:_MOST_INFLATED]), is_whole)
