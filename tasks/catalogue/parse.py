"""From a delivered file to frames of texts with their row numbers; no record is lost without a word."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import polars as pl

from tasks.ahead import Ahead
from tasks.catalogue import records
from tasks.catalogue.dialect import Dialect, EmptyFileError, UnreadableFileError
from tasks.catalogue.records import Piece
from tasks.catalogue.stream import blocks
from tasks.errors import IngestError

ROW = "row_number"  # as a spreadsheet numbers it: the header is row 1


class RowLimitError(IngestError):
    """The file has more rows than this feed allows."""

    code = "ROW_COUNT_LIMIT_EXCEEDED"
    hint = "if the number is right, raise the limit with: feedmill feeds set KEY --max-rows N"


class RowsLostError(IngestError):
    """A parser gave fewer or more rows than the file has records; nothing was written."""

    code = "ROWS_LOST"


@dataclass(frozen=True)
class Limits:
    """How much a file may hold."""

    max_rows: int
    max_bytes: int  # inflated


@dataclass(frozen=True)
class Part:
    """Some records: as texts under the names of their positions, and as they stand in the file."""

    piece: Piece
    cells: pl.DataFrame

    def with_cells(self, cells: pl.DataFrame) -> "Part":
        """Some of its records."""
        return replace(self, cells=cells)

    def without_first(self) -> "Part":
        """All but its first record, broken or not."""
        broken = self.piece.broken
        if broken and (not self.cells.height or broken[0].row_number < self.cells[ROW][0]):
            return replace(self, piece=replace(self.piece, broken=broken[1:]))
        return self.with_cells(self.cells[1:])

    @property
    def size_bytes(self) -> int:
        return len(self.piece.data) + sum(len(raw) for _, raw, _ in self.piece.rows)


def read_header(path: Path, dialect: Dialect, limits: Limits) -> list[str]:
    """The names of the columns: the first record."""
    text = b""
    for block in blocks(path, dialect, max_bytes=limits.max_bytes):
        text = (text + block).lstrip(b"\r\n")
        if len(text) > records.MOST_RECORD_BYTES:
            break
    text += b"\n"
    if text.find(b"\n", 0, records.MOST_RECORD_BYTES) < 0:
        message = "the first line does not end"
        raise UnreadableFileError(message)
    header = records.first_record(text, dialect)
    if not any(header):
        raise EmptyFileError
    return header


def column(position: int) -> str:
    return f"column_{position + 1}"  # as Polars names them


def parts(path: Path, dialect: Dialect, header: list[str], limits: Limits, *, wanted: list[str]) -> Iterator[Part]:
    """Every record behind the header, in order. Only the wanted columns are parsed."""
    names = [column(position) for position in range(len(header))]
    text = blocks(path, dialect, max_bytes=limits.max_bytes)
    with Ahead(records.pieces(text, dialect, len(header))) as split:
        count = 0
        for piece in split:
            is_first, count = count == 0, count + piece.records
            if count - 1 > limits.max_rows:  # the header is no row
                message = f"the file has more than the {limits.max_rows:,} rows that this feed allows"
                raise RowLimitError(message)
            cells = _cells(piece, dialect, names, wanted=wanted)
            if cells.height + len(piece.broken) != piece.records:
                message = f"{piece.records} records from row {piece.first_row} on gave {cells.height} rows"
                raise RowsLostError(message)
            part = Part(piece, cells)
            yield part.without_first() if is_first else part


def _cells(piece: Piece, dialect: Dialect, names: list[str], *, wanted: list[str]) -> pl.DataFrame:
    if piece.ends is None:
        numbers = pl.Series(ROW, [number for number, _, _ in piece.rows], dtype=pl.UInt32)
        texts = [cells for _, _, cells in piece.rows]
        return pl.DataFrame(texts, schema=dict.fromkeys(names, pl.String), orient="row").select(numbers, *wanted)
    try:
        return pl.read_csv(
            piece.data,
            has_header=False,
            schema=dict.fromkeys(names, pl.String),
            columns=wanted,
            separator=dialect.delimiter,
            quote_char=dialect.quote,
            empty_string_is_null=False,
            row_index_name=ROW,
            row_index_offset=piece.first_row,
        )
    except pl.exceptions.PolarsError as error:
        said = str(error).partition("\n")[0]
        message = f"the file cannot be read as delimited text, from row {piece.first_row} on: {said}"
        raise UnreadableFileError(message) from error
