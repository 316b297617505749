"""The folder of the server's socket: private to its account, and short enough for the 107 bytes of a socket's path."""

import os
import re
import shutil
import stat
import tempfile
from pathlib import Path

from db.errors import DatabaseError
from db.postgres.place import Place

PORT = 5432
_SOCKET = f".s.PGSQL.{PORT}"
_LONGEST = 103 - len(_SOCKET) - 1
_PLAIN = re.compile(r"[A-Za-z0-9/._ -]+")  # libpq takes a comma for a list of hosts


def find(place: Place) -> Path | None:
    """The socket folder, if only the server's account may enter it: somebody else may have made one of that name."""
    folder = _named(place)
    try:
        status = folder.lstat()
    except FileNotFoundError:
        return None
    is_private = status.st_uid == place.account.uid and not status.st_mode & 0o077
    return folder if stat.S_ISDIR(status.st_mode) and is_private and _fits(folder) else None


def is_open(place: Place) -> bool:
    """Whether a server has its socket there."""
    folder = find(place)
    return folder is not None and (folder / _SOCKET).exists()


def make(place: Place) -> Path:
    """The socket folder, the same as last time if it can still be trusted, so that URLs stay good."""
    if folder := find(place):
        return folder
    remove(place)
    own = place.folder / "socket"
    if _fits(own):
        own.mkdir(mode=0o700)
        folder = own
    else:
        folder = _temporary()
        own.symlink_to(folder)
    place.account.take_over(folder)
    return folder


def sweep(folder: Path) -> None:
    """Take away the socket of a server that is gone: Postgres believes in it while any process has its number."""
    (folder / _SOCKET).unlink(missing_ok=True)
    (folder / f"{_SOCKET}.lock").unlink(missing_ok=True)


def remove(place: Place) -> None:
    """Take the folder away, but never one that is not ours."""
    if folder := find(place):
        shutil.rmtree(folder)
    own = place.folder / "socket"
    if own.is_symlink():
        own.unlink()
    elif own.exists():
        shutil.rmtree(own)


def _named(place: Place) -> Path:
    own = place.folder / "socket"
    return own.readlink() if own.is_symlink() else own


def _fits(folder: Path) -> bool:
    return len(os.fsencode(folder)) <= _LONGEST and _PLAIN.fullmatch(str(folder)) is not None


def _temporary() -> Path:
    for parent in (tempfile.gettempdir(), "/tmp", "/var/tmp"):  # noqa: S108  # mkdtemp makes a private folder there
        if _fits(Path(parent) / "feedmill-12345678") and os.access(parent, os.W_OK | os.X_OK):
            return Path(tempfile.mkdtemp(prefix="feedmill-", dir=parent))
    message = "there is no folder with a short path for the database's socket"
    raise DatabaseError(message, hint="set TMPDIR to a folder with a short path that you may write to")
