"""A file as blocks of UTF-8 text, one at a time in memory: inflated, decoded, without zero bytes."""

import codecs
import zlib
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import BinaryIO

from tasks import files
from tasks.catalogue.dialect import GZIP_WINDOW, Dialect, UnreadableFileError, WrongGuessError, looks_like_cp1252
from tasks.errors import FileTooLargeError

BLOCK_BYTES = 4 * 1024 * 1024  # large enough for Polars to be quick, small beside what a run holds anyway
_READ_BYTES = 256 * 1024


def blocks(path: Path, dialect: Dialect, *, max_bytes: int) -> Iterator[bytes]:
    """The whole text; refuses damaged gzip and more than `max_bytes`. WrongGuessError if it is not in this encoding."""
    with files.open_for_read(path) as raw:
        plain = _inflated(raw) if dialect.compression == "GZIP" else iter(lambda: raw.read(BLOCK_BYTES), b"")
        yield from _text(_bounded(plain, max_bytes), dialect)


def _inflated(raw: BinaryIO) -> Iterator[bytes]:
    """Blocks of every member of a gzip file."""
    inflater = None
    try:
        while data := raw.read(_READ_BYTES):
            while data:
                if inflater is None:
                    data = data.lstrip(b"\0")  # padding that block devices leave between and after members
                    inflater = zlib.decompressobj(GZIP_WINDOW) if data else None
                    continue
                yield inflater.decompress(data, BLOCK_BYTES)
                data, inflater = (inflater.unused_data, None) if inflater.eof else (inflater.unconsumed_tail, inflater)
    except zlib.error as error:
        message = f"the file cannot be inflated: {error}"
        raise UnreadableFileError(message) from error
    if inflater is not None:
        message = "the file cannot be inflated: it ends early"
        raise UnreadableFileError(message)


def _bounded(plain: Iterator[bytes], max_bytes: int) -> Iterator[bytes]:
    """Blocks of about one size, until there are too many bytes."""
    size, parts, held = 0, [], 0
    for part in plain:
        size += len(part)
        if size > max_bytes:
            message = f"the file inflates to more than the {max_bytes:,} bytes that this feed allows"
            raise FileTooLargeError(message)
        parts.append(part)
        held += len(part)
        if held >= BLOCK_BYTES:
            yield b"".join(parts)
            parts, held = [], 0
    yield b"".join(parts)


def _text(plain: Iterator[bytes], dialect: Dialect) -> Iterator[bytes]:
    decode = codecs.getincrementaldecoder(dialect.encoding)(errors="replace" if _is_lossy(dialect) else "strict")
    is_first = True
    for block in plain:
        text = _as_utf8(block, dialect, decode=decode)
        if is_first:
            text = text.removeprefix(codecs.BOM_UTF8)
        if text:
            is_first = False
        yield _cleaned(text, dialect)
    yield _cleaned(decode.decode(b"", final=True).encode(), dialect)


def _is_lossy(dialect: Dialect) -> bool:
    return dialect.is_damaged or dialect.encoding != "utf-8"


def _as_utf8(block: bytes, dialect: Dialect, *, decode: codecs.IncrementalDecoder) -> bytes:
    if dialect.encoding == "utf-8" and block.isascii() and not decode.getstate()[0]:
        return block
    try:
        return decode.decode(block).encode()
    except UnicodeDecodeError as error:
        better = {"encoding": "cp1252"} if looks_like_cp1252(block) else {"is_damaged": True}
        raise WrongGuessError(replace(dialect, **better)) from error


def _cleaned(text: bytes, dialect: Dialect) -> bytes:
    if b"\0" in text:
        text = text.replace(b"\0", b"")
    return text.replace(b"\r", b"\n") if dialect.line_end == "\r" else text
