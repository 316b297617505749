"""A file as blocks of UTF-8 text, one at a time in memory: inflated, decoded, without zero bytes."""

import codecs
from collections.abc import Iterator
from dataclasses import replace
from itertools import chain
from pathlib import Path

from tasks import files
from tasks.catalogue.dialect import Dialect, WrongGuessError, inflated
from tasks.errors import FileTooLargeError

BLOCK_BYTES = 4 * 1024 * 1024  # large enough for Polars to be quick, small beside what a run holds anyway


def blocks(path: Path, dialect: Dialect, *, max_bytes: int) -> Iterator[bytes]:
    """The whole text; refuses damaged gzip and more than `max_bytes`. WrongGuessError if it is not in this encoding."""
    with files.open_for_read(path) as raw:
        is_gzip = dialect.compression == "GZIP"
        plain = inflated(raw, BLOCK_BYTES) if is_gzip else iter(lambda: raw.read(BLOCK_BYTES), b"")
        yield from _text(_bounded(plain, max_bytes), dialect)


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
    is_first = True
    for text in _as_utf8(plain, dialect):
        whole = text.removeprefix(codecs.BOM_UTF8) if is_first else text
        is_first = is_first and not text
        yield _cleaned(whole, dialect)


def _as_utf8(plain: Iterator[bytes], dialect: Dialect) -> Iterator[bytes]:
    is_lossy = dialect.is_damaged or dialect.encoding != "utf-8"
    decoder = codecs.getincrementaldecoder(dialect.encoding)(errors="replace" if is_lossy else "strict")
    good = 0
    for block in chain(plain, [b""]):
        if dialect.encoding == "utf-8" and block and block.isascii() and not decoder.getstate()[0]:
            yield block
            continue
        try:
            text = decoder.decode(block, final=not block)
        except UnicodeDecodeError as error:
            rest = chain([error.object], plain)
            better = {"is_damaged": True} if _is_mostly_utf8(rest, good) else {"encoding": "cp1252"}
            raise WrongGuessError(replace(dialect, **better)) from error
        encoded = text.encode()
        good += len(encoded) - len(text)
        yield encoded


def _is_mostly_utf8(rest: Iterator[bytes], good: int) -> bool:
    """Of a file with bytes that are not UTF-8: whether it has more that only UTF-8 has (`good` of them before).

    In cp1252 a character beyond ASCII is hardly ever such that it and the next would be one of UTF-8.
    """
    decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")
    bad = 0
    for block in rest:
        text = decoder.decode(block)
        wrong = text.count("\ufffd")
        good += len(text.encode()) - len(text) - 2 * wrong
        bad += wrong
    return good > bad


def _cleaned(text: bytes, dialect: Dialect) -> bytes:
    if b"\0" in text:
        text = text.replace(b"\0", b"")
    return text.replace(b"\r", b"\n") if dialect.line_end == "\r" else text
