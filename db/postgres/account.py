"""The operating-system account that runs Postgres: the user's own, or for root one made for it."""

import os
import pwd
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from db.errors import DatabaseError

# Not `feedmill`: a team may run its workers under that name, and that account must not enter root's database.
SERVER_NAME = "feedmill-db"
_HINT = "set FEEDMILL_DATABASE_URL to a Postgres of your own, or run feedmill as an ordinary user"
_SYSTEM_PATH = os.pathsep.join((os.environ.get("PATH", os.defpath), "/usr/sbin", "/sbin"))


@dataclass(frozen=True)
class Account:
    name: str
    uid: int
    gid: int

    @property
    def is_ours(self) -> bool:
        """Whether this process already runs under it."""
        return self.uid == os.geteuid()

    def take_over(self, path: Path | int) -> None:
        """Make it the owner of a file or folder that this process made."""
        if not self.is_ours:
            os.chown(path, self.uid, self.gid)


def current() -> Account:
    """The account of this process, which needs a name: Postgres asks for it."""
    try:
        return _account(pwd.getpwuid(os.geteuid()))
    except KeyError:
        message = f"the user id {os.geteuid()} has no name on this machine, and Postgres does not start without one"
        raise DatabaseError(message, hint="set FEEDMILL_DATABASE_URL to a Postgres of your own") from None


def server() -> Account:
    """The account that runs Postgres for this user; for root it must have been made."""
    if os.geteuid() != 0:
        return current()
    entry = _server_entry()
    if entry is None:
        message = f"there is no user {SERVER_NAME} to run Postgres, which refuses to run as root"
        raise DatabaseError(message, hint=_HINT)
    if entry.pw_uid == 0 or not entry.pw_shell.endswith(("/nologin", "/false")):
        message = f"the user {SERVER_NAME} can log in, so it must not own root's database"
        raise DatabaseError(message, hint=_HINT)
    return _account(entry)


def make_server() -> None:
    """Make the account that runs Postgres for root, unless it is there. One caller at a time."""
    if os.geteuid() != 0 or _server_entry():
        return
    useradd = shutil.which("useradd", path=_SYSTEM_PATH)
    if useradd is None:
        message = f"Postgres refuses to run as root, and there is no useradd to make the user {SERVER_NAME} for it"
        raise DatabaseError(message, hint=_HINT)
    shell = shutil.which("nologin", path=_SYSTEM_PATH) or "/bin/false"
    options = ["--system", "--user-group", "--no-create-home", "--home-dir", "/nonexistent", "--shell", shell]
    done = subprocess.run([useradd, *options, SERVER_NAME], capture_output=True, text=True, check=False)  # noqa: S603  # no input of a user
    if done.returncode != 0:
        message = f"the user {SERVER_NAME}, who is to run Postgres for root, could not be made: {done.stderr.strip()}"
        raise DatabaseError(message, hint=_HINT)


def _server_entry() -> pwd.struct_passwd | None:
    try:
        return pwd.getpwnam(SERVER_NAME)
    except KeyError:
        return None


def _account(entry: pwd.struct_passwd) -> Account:
    return Account(name=entry.pw_name, uid=entry.pw_uid, gid=entry.pw_gid)
