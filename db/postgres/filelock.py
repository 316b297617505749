"""Exclusive locks on files: they end with the process that holds them, and a child may inherit them."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def holding(path: Path) -> Iterator[None]:
    """Wait for the lock on `path`, hold it, and give it back."""
    fd = _wait_for(path)
    try:
        yield
    finally:
        _release(fd)


@contextmanager
def trying(path: Path) -> Iterator[bool]:
    """True and the lock on `path`, or False at once."""
    fd = take(path)
    try:
        yield fd is not None
    finally:
        if fd is not None:
            _release(fd)


def take(path: Path) -> int | None:
    """A descriptor that holds the lock, or None if somebody else does.

    Closing the descriptor gives the lock back only when no child that inherited it is left.
    """
    fd = _open(path)
    if _lock(fd, fcntl.LOCK_EX) and _is_still(path, fd):
        return fd
    os.close(fd)
    return None


def is_held(path: Path) -> bool:
    """Whether some process holds the lock on `path`, which may be missing."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return False
    try:
        return not _lock(fd, fcntl.LOCK_SH)
    finally:
        os.close(fd)


def _wait_for(path: Path) -> int:
    while True:
        fd = _open(path)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX)
        except BaseException:
            os.close(fd)
            raise
        if _is_still(path, fd):
            return fd
        os.close(fd)


def _release(fd: int) -> None:
    # Closing alone would leave the lock with a child forked meanwhile by another thread of this program.
    fcntl.flock(fd, fcntl.LOCK_UN)
    os.close(fd)


def _open(path: Path) -> int:
    return os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)


def _lock(fd: int, kind: int) -> bool:
    try:
        fcntl.flock(fd, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _is_still(path: Path, fd: int) -> bool:
    """False if the file was removed while its lock was awaited: the lock then guards nothing."""
    try:
        return os.path.samestat(path.stat(), os.fstat(fd))
    except FileNotFoundError:
        return False
