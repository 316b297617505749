"""Where the embedded Postgres of one home lives: inside it, or for root outside all that only root may enter."""

import fcntl
import hashlib
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from db.errors import DatabaseError
from db.postgres import account
from db.postgres.account import Account

SHARED = Path("/var/lib/feedmill")  # root's databases: owned by root, entered by name only


@dataclass(frozen=True)
class Place:
    """The folder of one database and the account that runs it."""

    home: Path
    folder: Path
    account: Account

    @property
    def data(self) -> Path:
        return self.folder / "data"

    @property
    def log(self) -> Path:
        return self.folder / "server.log"

    @property
    def start_lock(self) -> Path:
        """Held while somebody starts or stops the server."""
        return self.folder / "start.lock"

    @property
    def server_lock(self) -> Path:
        """Inherited by every process of the server, so it is free only when the last one is gone."""
        return self.folder / "server.lock"

    @property
    def keeper_lock(self) -> Path:
        """Held by the process that stops the unused server."""
        return self.folder / "keeper.lock"

    @property
    def renewed(self) -> Path:
        """Touched by everybody who asks for the database."""
        return self.folder / "renewed"

    @property
    def tag(self) -> str:
        """The name that the server's processes carry in the process list."""
        return f"feedmill_{_digest(self.folder)}"


def find(home: Path) -> Place | None:
    """The place of this home's database, or None if it was never prepared."""
    folder = _folder(home)
    return Place(home, folder, account=account.server()) if folder.is_dir() else None


def prepare(home: Path) -> Place:
    """The place of this home's database, with its folder made; no folder that exists gets wider permissions."""
    own = home / "postgres"
    try:
        home.mkdir(mode=0o700, parents=True, exist_ok=True)
        own.mkdir(mode=0o700, exist_ok=True)
    except (FileExistsError, NotADirectoryError):
        message = f"{home} is a file, or lies below one"
        raise DatabaseError(message, hint="set FEEDMILL_HOME to a folder of your own") from None
    _refuse_foreign(own)
    if os.geteuid() == 0:
        _prepare_shared(home)
    return Place(home, _folder(home), account=account.server())


def forget(place: Place) -> None:
    """Take away what `prepare` left in the home."""
    own = place.home / "postgres"
    (own / "where").unlink(missing_ok=True)
    with suppress(OSError):  # gone with the data, or somebody keeps something in it
        own.rmdir()


@contextmanager
def shared_folder() -> Iterator[Path]:
    """Root's folder of databases, for one process at a time."""
    _make(SHARED, 0o711)
    fd = os.open(SHARED, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        status = os.fstat(fd)
        if status.st_uid != 0 or status.st_mode & 0o022:
            message = f"{SHARED} may be written by others than root"
            raise DatabaseError(message, hint=f"look who made it, then: chown root {SHARED} && chmod 711 {SHARED}")
        fcntl.flock(fd, fcntl.LOCK_EX)
        yield SHARED
    finally:
        os.close(fd)


def _make(folder: Path, mode: int) -> None:
    """Make what is missing of a path that the server's account must pass; what is there stays as it is."""
    if folder.is_dir():
        return
    _make(folder.parent, 0o755)
    with suppress(FileExistsError):  # by another process, this moment; what else has the name is seen on opening
        folder.mkdir(mode=0o700)
        folder.chmod(mode)  # not by mkdir, whose mode a umask such as 077 narrows


def _folder(home: Path) -> Path:
    return SHARED / _digest(home) if os.geteuid() == 0 else home / "postgres"


def _digest(path: Path) -> str:
    return hashlib.sha256(os.fsencode(path.resolve())).hexdigest()[:16]


def _refuse_foreign(own: Path) -> None:
    status = own.stat()
    if status.st_uid != os.geteuid():
        message = f"{own} belongs to another user (id {status.st_uid})"
        raise DatabaseError(message, hint="run feedmill as that user, or set FEEDMILL_HOME to a folder of your own")
    if status.st_mode & 0o077:
        own.chmod(0o700)


def _prepare_shared(home: Path) -> None:
    folder = _folder(home)
    _note(home / "postgres" / "where", folder)
    with shared_folder():
        account.make_server()
        folder.mkdir(mode=0o700, exist_ok=True)
        # The server's account passes through by its group; it can change nothing here but its own two folders.
        os.chown(folder, 0, account.server().gid)
        folder.chmod(0o710)
        (folder / "home").write_bytes(os.fsencode(home) + b"\n")  # for a person who wonders whose it is


def _note(note: Path, folder: Path) -> None:
    """Leave word in the home; a home that was moved or copied is refused, not given an empty database."""
    if not note.exists():
        note.write_text(f"{folder}\n", encoding="utf-8")
    noted = note.read_text(encoding="utf-8").strip()
    if noted != str(folder):
        message = f"this home was moved or copied: its database is in {noted}, and for this path it would be {folder}"
        hint = f"stop the database and rename {noted} to {folder}, or begin anew, in either case after: rm '{note}'"
        raise DatabaseError(message, hint=hint)
