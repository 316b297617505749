"""Where feedmill keeps what belongs to one user: the embedded database, the key file, the archive."""

import os
from pathlib import Path

import platformdirs


def home() -> Path:
    """`FEEDMILL_HOME`, or the user's data folder, so that notebooks, workers and shells meet the same one."""
    named = os.environ.get("FEEDMILL_HOME")
    return Path(named).expanduser().absolute() if named else platformdirs.user_data_path("feedmill")


def archive_url() -> str | None:
    """Where the user keeps the files of runs, or None for `archive` in the home."""
    return os.environ.get("FEEDMILL_ARCHIVE_URL") or None


def database_url() -> str | None:
    """The database that the user named, or None for the embedded one."""
    return os.environ.get("FEEDMILL_DATABASE_URL") or None
