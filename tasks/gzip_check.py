"""Whether a gzip file is whole, found by inflating it to nowhere: all members, their sums, and nothing behind them."""

import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from tasks import files
from tasks.errors import FileDamagedError, FileStillUploadingError, FileTooLargeError

GZIP_MAGIC = b"\x1f\x8b"
_CHUNK_BYTES = 1024 * 1024
_READ_BYTES = 256 * 1024
GZIP_WINDOW = 16 + zlib.MAX_WBITS  # a gzip header and trailer, and the largest window


def starts_as_gzip(path: Path) -> bool:
    with files.open_for_read(path) as file:
        return file.read(len(GZIP_MAGIC)) == GZIP_MAGIC


def verify_gzip(path: Path, *, address: str, max_bytes: int) -> int:
    """The inflated size; transient if the file ends early, permanent if it is damaged or inflates past `max_bytes`."""
    inflated = 0
    try:
        with files.open_for_read(path) as file:
            for piece in inflated_pieces(file):
                inflated += len(piece)
                if inflated > max_bytes:
                    message = f"{address} inflates to more than the {max_bytes} bytes that this feed allows"
                    raise FileTooLargeError(message)
    except EOFError as error:
        message = f"{address} is gzip that ends early"
        raise FileStillUploadingError(message) from error
    except zlib.error as error:
        message = f"{address} is damaged gzip: {error}"
        raise FileDamagedError(message) from error
    return inflated


def inflated_pieces(file: BinaryIO, *, most_bytes: int = _CHUNK_BYTES) -> Iterator[bytes]:
    """The text of all members, never more than one piece in memory; EOFError if the last member has no end."""
    member = None
    while data := file.read(_READ_BYTES):
        while data:
            if member is None:
                data = data.lstrip(b"\0")  # padding that block devices leave between and after members
                member = zlib.decompressobj(GZIP_WINDOW) if data else None
                continue
            yield member.decompress(data, most_bytes)
            data, member = (member.unused_data, None) if member.eof else (member.unconsumed_tail, member)
    if member is not None:
        raise EOFError
