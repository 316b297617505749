"""The single door from a run to the local file system: a work folder per run, plain reads and writes, the key file."""

import os
import shutil
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

_OTHERS = stat.S_IRWXG | stat.S_IRWXO
_COPY_BYTES = 1024 * 1024
_WRITTEN_BYTES = 128 * 1024


@contextmanager
def work_folder() -> Iterator[Path]:
    """A private folder (0700) for one run, gone at the end; what cannot be removed does not spoil the run."""
    with tempfile.TemporaryDirectory(prefix="feedmill-run-", ignore_cleanup_errors=True) as name:
        yield Path(name)


def open_for_write(path: Path) -> BinaryIO:
    return path.open("wb")


def write_in_pieces(file: BinaryIO, data: bytes) -> None:
    """All of it. Where the host takes memory back, the page cache takes 1 MiB at once six times as slowly."""
    view = memoryview(data)
    for start in range(0, len(view), _WRITTEN_BYTES):
        file.write(view[start : start + _WRITTEN_BYTES])


def open_for_read(path: Path) -> BinaryIO:
    return path.open("rb")


def stat_file(path: Path) -> os.stat_result:
    return path.stat()


def replace_file(source: Path, target: Path) -> None:
    """Give `source` the name `target`, at once or not at all."""
    source.replace(target)


def discard_file(path: Path) -> None:
    """Remove the file if it is there."""
    path.unlink(missing_ok=True)


def size_of(path: Path) -> int | None:
    """None if there is no such file."""
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return None


def copy_file(source: Path, target: Path) -> None:
    shutil.copyfile(source, target)


def copy_whole(source: Path, target: Path, *, part: Path) -> None:
    """A copy (0600, folders 0700) that is on the disk before it has its name; `part` is its name until then."""
    for folder in (target.parent.parent, target.parent):
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    try:
        with (
            source.open("rb") as whole,
            os.fdopen(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as copy,
        ):
            shutil.copyfileobj(whole, copy, _COPY_BYTES)
            copy.flush()
            os.fsync(copy.fileno())
        part.replace(target)
    finally:
        part.unlink(missing_ok=True)


def files_below(folder: Path) -> list[tuple[Path, float]]:
    """Every file below a folder that may not be there, with the time of its last change."""
    found = []
    for path in folder.rglob("*"):
        with suppress(FileNotFoundError):  # gone in the meantime
            status = path.lstat()
            if stat.S_ISREG(status.st_mode):
                found.append((path, status.st_mtime))
    return found


def read_key_file(path: Path) -> bytes:
    """What the key file holds; PermissionError if anybody but its owner could have read it."""
    with path.open("rb") as file:
        if os.fstat(file.fileno()).st_mode & _OTHERS:
            message = "readable by group or others"
            raise PermissionError(message)
        return file.read()


def is_there(path: Path) -> bool:
    return path.exists()


def make_key_file(path: Path, data: bytes) -> bool:
    """Write the key file (0600) unless there is one: of two processes at once, one wins and both read its key."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    # mkstemp opens with O_EXCL and 0600. The name appears by link(), complete or not at all, and never over another.
    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        with suppress(FileExistsError):
            os.link(name, path)
            return True
        return False
    finally:
        Path(name).unlink()
