"""From blocks of text to pieces of whole records, counted before any parser sees them."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from tasks.catalogue.dialect import Dialect

MOST_RECORD_BYTES = 1024 * 1024  # a longer one is damage: a quote that never ends, or no text at all
_NEWLINE, _RETURN = 10, 13

Positions = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Broken:
    """A record that cannot be taken apart."""

    row_number: int
    code: str
    raw: bytes


@dataclass(frozen=True)
class Piece:
    """Whole records. Regular ones are left to Polars (`data`); of others the cells are here."""

    first_row: int
    records: int
    data: bytes = b""
    ends: Positions | None = None  # of a regular piece: where its records end
    rows: list[tuple[int, bytes, list[str]]] = field(default_factory=list)
    broken: list[Broken] = field(default_factory=list)

    def raw(self, row_number: int) -> bytes:
        """A record as it stands in the file."""
        if self.ends is None:
            return next(raw for number, raw, _ in self.rows if number == row_number)
        index = row_number - self.first_row
        start = 0 if index == 0 else int(self.ends[index - 1]) + 1
        return self.data[start : int(self.ends[index])].rstrip(b"\r")


def first_record(text: bytes, dialect: Dialect) -> list[str]:
    """The cells of the header, which is taken as it comes: where its quotes do not close, they mean nothing."""
    end, cells = _Fields(dialect, 0).record(text, 0)
    if cells is None:
        cells = [cell.strip(b' \r\n"') for cell in text[:end].split(dialect.delimiter.encode())]
    return [cell.decode(errors="replace").strip() for cell in cells]


def pieces(blocks: Iterator[bytes], dialect: Dialect, width: int) -> Iterator[Piece]:
    """Every record of the text, the first one (the header) too; `width` is how many cells each should have."""
    splitter = _Splitter(dialect, width)
    for block in blocks:
        yield from splitter.take(block)
    yield from splitter.finish()


class _Splitter:
    def __init__(self, dialect: Dialect, width: int) -> None:
        self._delimiter = ord(dialect.delimiter)
        self._quote = ord(dialect.quote) if dialect.quote else None
        self._width = width
        self._fields = _Fields(dialect, width)
        self._rest = b""
        self._row = 1

    def take(self, block: bytes) -> Iterator[Piece]:
        if self._fields.is_within_line:
            _, line_end, block = block.partition(b"\n")
            self._fields.is_within_line = not line_end
        self._rest += block
        if len(self._rest) > 2 * MOST_RECORD_BYTES:
            yield from self._cut(is_last=False)

    def finish(self) -> Iterator[Piece]:
        if self._rest and not self._rest.endswith(b"\n"):
            self._rest += b"\n"
        if self._rest:
            yield from self._cut(is_last=True)

    def _cut(self, *, is_last: bool) -> Iterator[Piece]:
        piece = self._regular(is_last=is_last)
        if piece is None:
            piece, self._rest = self._fields.split(self._rest, first_row=self._row, is_last=is_last)
            self._row += self._fields.lines_taken
        else:
            self._row += piece.records
        if piece.records:
            yield piece

    def _regular(self, *, is_last: bool) -> Piece | None:
        """The records up to the last end of one, if plainly such as Polars reads; None if a closer look is due."""
        text = np.frombuffer(self._rest, np.uint8)
        newlines = np.flatnonzero(text == _NEWLINE)
        delimiters = np.flatnonzero(text == self._delimiter)
        quotes = np.flatnonzero(text == self._quote) if self._quote else newlines[:0]
        if quotes.size:
            if not self._quotes_are_regular(text, quotes):
                return None
            newlines = newlines[np.searchsorted(quotes, newlines) % 2 == 0]
            delimiters = delimiters[np.searchsorted(quotes, delimiters) % 2 == 0]
        if not newlines.size or (is_last and newlines[-1] != text.size - 1):
            return None
        end = int(newlines[-1]) + 1
        # Of each record, not of all together: a short one and a long one would make up for each other.
        cells = np.diff(np.searchsorted(delimiters, newlines), prepend=0) + 1
        longest = np.diff(newlines, prepend=-1).max()
        if not (cells == self._width).all() or longest > MOST_RECORD_BYTES:
            return None
        piece = Piece(self._row, newlines.size, data=self._rest[:end], ends=newlines)
        self._rest = self._rest[end:]
        return piece

    def _quotes_are_regular(self, text: npt.NDArray[np.uint8], quotes: Positions) -> bool:
        """Each opens behind a delimiter or line end, closes before one, or is doubled; parity can be trusted then."""
        opening, closing = quotes[::2], quotes[1::2]
        before = text[opening[opening > 0] - 1]
        closing = closing[closing + 2 < text.size]  # what stands at the very end is looked at again with what follows
        after = text[closing + 1]
        opens = (before == self._delimiter) | (before == _NEWLINE) | (before == self._quote)
        closes = (after == self._delimiter) | (after == _NEWLINE) | (after == self._quote)
        closes |= (after == _RETURN) & (text[closing + 2] == _NEWLINE)
        return bool(opens.all() and closes.all())


class _Fields:
    """Takes text apart record by record: for what is ragged, quoted out of order, or blank here and there."""

    def __init__(self, dialect: Dialect, width: int) -> None:
        self._delimiter = dialect.delimiter.encode()
        self._has_quotes = dialect.quote is not None
        self._width = width
        mark = re.escape(self._delimiter)
        # A quoted cell holds doubled quotes only and ends before a delimiter or at a line end; anything else is text.
        self._quoted = re.compile(b'"([^"]*(?:""[^"]*)*)"(?=' + mark + rb"|\r?\n)")
        self._plain = re.compile(b"[^\n" + mark + b"]*")
        self.lines_taken = 0
        self.is_within_line = False  # of an endless one, of which the rest is still to come

    def split(self, text: bytes, *, first_row: int, is_last: bool) -> tuple[Piece, bytes]:
        """A piece, and the text that is left because its record may go on behind it."""
        piece = Piece(first_row, 0)
        position, row = 0, first_row
        while position < len(text) and (is_last or len(text) - position > MOST_RECORD_BYTES):
            end, cells = self.record(text, position)
            raw = text[position : min(end, position + MOST_RECORD_BYTES)].rstrip(b"\r\n")
            if end - position > MOST_RECORD_BYTES:
                piece.broken.append(Broken(row, "ROW_TOO_LONG", raw))
            elif raw:
                self._sort(piece, row, raw=raw, cells=cells)
            position, row = end, row + 1
        self.lines_taken = row - first_row
        self.is_within_line = position > 0 and text[position - 1 : position] != b"\n"
        whole = Piece(first_row, len(piece.rows) + len(piece.broken), rows=piece.rows, broken=piece.broken)
        return whole, text[position:]

    def _sort(self, piece: Piece, row: int, *, raw: bytes, cells: list[bytes] | None) -> None:
        if cells is None:
            piece.broken.append(Broken(row, "MALFORMED_QUOTES", raw))
        elif len(cells) != self._width:
            piece.broken.append(Broken(row, "RAGGED_ROW", raw))
        else:
            piece.rows.append((row, raw, [cell.decode() for cell in cells]))

    def record(self, text: bytes, start: int) -> tuple[int, list[bytes] | None]:
        """Where a record ends, and its cells; None for one without end in sight: then it is its first line.

        In sight is as far as a record may reach, however much of the text is there: the outcome must not depend on it.
        """
        limit = start + MOST_RECORD_BYTES
        line_end = text.find(b"\n", start, limit)
        if line_end < 0:
            return text.find(b"\n", start) + 1 or len(text), None
        if not self._has_quotes or text.find(b'"', start, line_end) < 0:
            return line_end + 1, text[start:line_end].removesuffix(b"\r").split(self._delimiter)
        cells: list[bytes] = []
        position = start
        while True:
            cell, position = self._cell(text, position, limit=limit)
            if cell is None or position >= limit:
                return line_end + 1, None
            cells.append(cell)
            if text[position : position + 1] != self._delimiter:
                return text.find(b"\n", position) + 1, cells
            position += 1

    def _cell(self, text: bytes, position: int, *, limit: int) -> tuple[bytes | None, int]:
        if text[position : position + 1] == b'"':
            found = self._quoted.match(text, position, limit)
            return (found[1].replace(b'""', b'"'), found.end()) if found else (None, position)
        found = self._plain.match(text, position, limit)
        assert found is not None  # noqa: S101 - it matches nothing, too
        is_last = text[found.end() : found.end() + 1] == b"\n"
        return found[0].removesuffix(b"\r") if is_last else found[0], found.end()
