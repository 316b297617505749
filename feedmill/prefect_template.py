"""A migrated, empty Prefect database per Prefect version, kept so that a temporary server need not make its own.

On two cores a server with a fresh SQLite file takes 11 s to answer, of which 8 s are migrations and block types; with
a copy of this file it takes 3.5 s.
"""

import contextlib
import shutil
import sqlite3
import tempfile
from importlib.metadata import version
from pathlib import Path

from db.home import home

DATABASE = "prefect.db"
_BLOCKS = "memo_store.toml"  # says that the block types are in the database; valid for one database URL only


def copy_template(folder: Path) -> bool:
    """Whether a template was there to copy into the server's folder."""
    try:
        for name in (DATABASE, _BLOCKS):
            shutil.copyfile(_template() / name, folder / name)
    except OSError:
        discard_copy(folder)
        return False
    return True


def keep_template(folder: Path) -> None:
    """Keep the database of a server that nobody has used yet. A cache: not being able to write it is no error."""
    cache = _template().parent
    with contextlib.suppress(OSError, sqlite3.Error):
        home().mkdir(mode=0o700, parents=True, exist_ok=True)
        cache.mkdir(mode=0o700, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=cache, prefix="new-") as temporary:
            made = Path(temporary) / "template"
            made.mkdir(mode=0o700)
            _copy_live_database(folder / DATABASE, made / DATABASE)
            shutil.copyfile(folder / _BLOCKS, made / _BLOCKS)
            made.rename(_template())  # fails if another process was first: theirs is as good


def discard_template() -> None:
    """Forget a template that no server could start with."""
    shutil.rmtree(_template(), ignore_errors=True)


def discard_copy(folder: Path) -> None:
    """Let the server in this folder begin without a database."""
    for file in (*folder.glob(f"{DATABASE}*"), folder / _BLOCKS):
        file.unlink(missing_ok=True)


def _template() -> Path:
    return home() / "prefect" / f"template-{version('prefect')}"


def _copy_live_database(source: Path, target: Path) -> None:
    """Through SQLite's own backup: the newest pages are still in the write-ahead log."""
    with contextlib.closing(sqlite3.connect(source)) as live, contextlib.closing(sqlite3.connect(target)) as copy:
        live.backup(copy)
