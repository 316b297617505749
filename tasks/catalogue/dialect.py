"""What the bytes of a delivered file are: compression, encoding, delimiter, quotes; found once per file."""

import codecs
import csv
import re
import zlib
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, BinaryIO

from tasks import files
from tasks.errors import IngestError
from tasks.gzip_check import GZIP_MAGIC, inflated_pieces

DELIMITERS = (",", "\t", ";", "|")
QUOTE = '"'
PROBE_BYTES = 262_144
_BOMS = {codecs.BOM_UTF8: "utf-8", codecs.BOM_UTF16_LE: "utf-16-le", codecs.BOM_UTF16_BE: "utf-16-be"}
_ARCHIVES = {b"PK\x03\x04": "a zip archive", b"7z\xbc\xaf": "a 7-Zip archive", b"BZh": "bzip2", b"\xfd7zXZ": "xz"}
_CONTROL = re.compile(r"[\x01-\x08\x0e-\x1f\x7f]")
_MOST_CONTROL = 0.02  # of text; a few are found in descriptions, in what is packed one in ten
_MOST_ZEROS = 0.1  # of plain text; UTF-16 has about one in two


class EmptyFileError(IngestError):
    """The file holds no data rows."""

    code = "EMPTY_FILE"
    hint = "an empty file never means that everything is gone; nothing was changed"


class UnreadableFileError(IngestError):
    """The file is not delimited text."""

    code = "PARSE_ERROR"
    hint = "feedmill reads comma-, tab-, semicolon- or pipe-separated text in UTF-8, UTF-16 or cp1252, gzipped or not"


@dataclass(frozen=True)
class Dialect:
    """What the bytes of a file are."""

    compression: str = "NONE"
    encoding: str = "utf-8"
    delimiter: str = ","
    quote: str | None = QUOTE
    line_end: str = "\n"
    decimal: str | None = "."  # of its prices; None where the file does not tell
    is_damaged: bool = False  # mostly UTF-8; what is not becomes U+FFFD

    def document(self) -> dict[str, Any]:
        return dict(vars(self))


class WrongGuessError(Exception):
    """The first bytes misled: the file is to be read anew, as this dialect."""

    def __init__(self, better: Dialect) -> None:
        super().__init__(better)
        self.better = better


def detect(path: Path) -> Dialect:
    """From the first bytes; refuses what is empty, no text, or packed in another way than gzip."""
    with files.open_for_read(path) as raw:
        head = raw.read(PROBE_BYTES)
        is_gzip = head.startswith(GZIP_MAGIC)
        if is_gzip:
            raw.seek(0)
            head = _inflated_head(raw)
    _refuse_packed(head, is_gzip=is_gzip)
    dialect = Dialect(compression="GZIP" if is_gzip else "NONE", encoding=_encoding(head))
    text = head_text(head, dialect)
    if not text.strip():
        raise EmptyFileError
    if len(_CONTROL.findall(text)) > len(text) * _MOST_CONTROL:
        message = "the file is full of control characters, so it is not text"
        raise UnreadableFileError(message)
    line_end = "\n" if "\n" in text or "\r" not in text else "\r"
    text = text.replace("\r\n", "\n").replace(line_end, "\n").lstrip("\n")
    delimiter = _delimiter(text)
    return replace(dialect, delimiter=delimiter, quote=_quote(text, delimiter), line_end=line_end)


def inflated(raw: BinaryIO, block_bytes: int) -> Iterator[bytes]:
    """Blocks of every member of a gzip file; refuses what is damaged or ends early."""
    try:
        yield from inflated_pieces(raw, most_bytes=block_bytes)
    except zlib.error as error:
        message = f"the file cannot be inflated: {error}"
        raise UnreadableFileError(message) from error
    except EOFError as error:
        message = "the file cannot be inflated: it ends early"
        raise UnreadableFileError(message) from error


def _inflated_head(raw: BinaryIO) -> bytes:
    head = b""
    for block in inflated(raw, PROBE_BYTES):
        head += block
        if len(head) >= PROBE_BYTES:
            break
    return head


def _refuse_packed(head: bytes, *, is_gzip: bool) -> None:
    if is_gzip and head.startswith(GZIP_MAGIC):
        message = "the file is gzip inside gzip"
        raise UnreadableFileError(message, hint="ask for a file that is compressed once")
    for magic, name in _ARCHIVES.items():
        if head.startswith(magic):
            message = f"the file is {name}"
            raise UnreadableFileError(message)


def _encoding(head: bytes) -> str:
    for mark, encoding in _BOMS.items():
        if head.startswith(mark):
            return encoding
    zeros = head.count(0)
    if zeros > len(head) * _MOST_ZEROS:
        even, odd = head[::2].count(0), head[1::2].count(0)
        if min(even, odd) * 10 > max(even, odd):
            message = "the file is mostly zero bytes, so it is not text"
            raise UnreadableFileError(message)
        return "utf-16-le" if odd > even else "utf-16-be"
    return "utf-8"  # or cp1252: that is for the whole file to say


def head_text(head: bytes, dialect: Dialect) -> str:
    text = codecs.getincrementaldecoder(dialect.encoding)(errors="replace").decode(head, final=False)
    return text.removeprefix("\ufeff").replace("\x00", "")


def _delimiter(text: str) -> str:
    """The commonest in the first line; one that begins with a quoted line end goes on behind it."""
    for within in (text.partition("\n")[0], text):
        outside = re.sub(r'"[^"]*"', "", within).partition("\n")[0]
        delimiter = max(DELIMITERS, key=outside.count)
        if delimiter in outside:
            return delimiter
    message = "the first line holds no comma, tab, semicolon or pipe"
    raise UnreadableFileError(message)


def _quote(text: str, delimiter: str) -> str | None:
    """Tab-separated files of the networks do not quote, so that 16" there is text; others do."""
    if delimiter != "\t" or text.startswith(QUOTE):
        return QUOTE
    lines = text.split("\n")[:-1] or [text]
    width = lines[0].count(delimiter)
    if all(line.count(delimiter) == width for line in lines if line):
        doubled = re.search(r'(?:^|\t)"[^"\t\n]*(?:""[^"\t\n]*)+"(?=\t|$)', text, flags=re.MULTILINE)
        return QUOTE if doubled else None
    quoted = _read_quoted(lines, delimiter)
    explains = any("\n" in cell or delimiter in cell for cells in quoted for cell in cells)
    return QUOTE if explains and all(len(cells) == width + 1 for cells in quoted if cells) else None


def _read_quoted(lines: list[str], delimiter: str) -> list[list[str]]:
    """The records, up to the first that is not whole or not as quotes are written."""
    found: list[list[str]] = []
    with suppress(csv.Error):
        found.extend(csv.reader((f"{line}\n" for line in lines), delimiter=delimiter, strict=True))
    return found
