"""From a delivered file to a frame of texts: what the bytes are, and their records as they stand."""

import codecs
import gzip
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import polars as pl

from tasks import files
from tasks.errors import IngestError

DELIMITERS = (",", "\t", ";", "|")
GZIP_MAGIC = b"\x1f\x8b"
ROW = "\x00row"  # the column of row numbers: a name that no header can hold
FIRST_DATA_ROW = 2  # as a spreadsheet numbers it: the header is row 1
_PROBE_BYTES = 65_536


class EmptyFileError(IngestError):
    """The file holds no data rows."""

    code = "EMPTY_FILE"
    hint = "an empty file never means that everything is gone; nothing was changed"


class UnreadableFileError(IngestError):
    """The file is not delimited text."""

    code = "PARSE_ERROR"
    hint = "feedmill reads comma-, tab-, semicolon- or pipe-separated UTF-8 text, gzipped or not"


class RowLimitError(IngestError):
    """The file has more rows than this feed allows."""

    code = "ROW_COUNT_LIMIT_EXCEEDED"
    hint = "if the number is right, raise the limit with: feedmill feeds set KEY --max-rows N"


@dataclass(frozen=True)
class Dialect:
    """What the bytes of a file are."""

    compression: str
    encoding: str
    delimiter: str
    quote: str | None

    def document(self) -> dict[str, Any]:
        return dict(vars(self))


def detect(path: Path) -> Dialect:
    """Compression, encoding, delimiter and quote, from the first bytes."""
    with files.open_for_read(path) as raw:
        is_gzip = raw.read(2) == GZIP_MAGIC
        raw.seek(0)
        head = _first_bytes(raw, is_gzip=is_gzip)
    if not head.strip():
        raise EmptyFileError
    header = _text(head).partition("\n")[0]
    delimiter = max(DELIMITERS, key=header.count)
    if not header.count(delimiter):
        message = "the first line holds no comma, tab, semicolon or pipe"
        raise UnreadableFileError(message)
    # Tab-separated files of the networks do not quote: a 16" barrel there is text.
    quote = None if delimiter == "\t" and '"' not in header else '"'
    return Dialect("GZIP" if is_gzip else "NONE", "utf-8", delimiter, quote)


def _first_bytes(raw: IO[bytes], *, is_gzip: bool) -> bytes:
    if not is_gzip:
        return raw.read(_PROBE_BYTES)
    try:
        with gzip.open(raw) as inflated:
            return inflated.read(_PROBE_BYTES)
    except (OSError, EOFError) as error:
        message = f"the file cannot be inflated: {error}"
        raise UnreadableFileError(message) from error


def _text(head: bytes) -> str:
    if b"\x00" in head:
        message = "the file holds zero bytes, so it is not text in UTF-8"
        raise UnreadableFileError(message)
    try:
        # final=False: the probe may end in the middle of a character.
        return codecs.getincrementaldecoder("utf-8-sig")().decode(head, final=False)
    except UnicodeDecodeError as error:
        message = f"byte {error.start} of the file is not UTF-8"
        raise UnreadableFileError(message) from None


def read_rows(path: Path, dialect: Dialect, *, max_rows: int) -> pl.DataFrame:
    """Every record as texts under its own header, its number under `ROW`; refuses a ragged or an over-long file."""
    try:
        rows = pl.read_csv(
            path,
            separator=dialect.delimiter,
            quote_char=dialect.quote,
            infer_schema=False,
            row_index_name=ROW,
            row_index_offset=FIRST_DATA_ROW,
        )
    except pl.exceptions.NoDataError:
        raise EmptyFileError from None
    except pl.exceptions.PolarsError as error:
        message = f"the file cannot be read as delimited text: {str(error).partition(chr(10))[0]}"
        raise UnreadableFileError(message) from error
    if rows.height == 0:
        raise EmptyFileError
    if rows.height > max_rows:
        message = f"the file has {rows.height:,} rows, more than the {max_rows:,} that this feed allows"
        raise RowLimitError(message)
    return rows
