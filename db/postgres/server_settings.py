"""The configuration files of the embedded server, written anew at every start."""

import os
from collections.abc import Mapping
from pathlib import Path

from db.postgres import account
from db.postgres.door import PORT
from db.postgres.place import Place

ROLE = "feedmill"

_SETTINGS = {
    "listen_addresses": "",
    "port": str(PORT),
    "unix_socket_permissions": "0700",
    "max_connections": "200",
    "shared_buffers": "128MB",
    "wal_level": "minimal",
    "max_wal_senders": "0",
    "max_wal_size": "2GB",
    "timezone": "UTC",
    "log_timezone": "UTC",
    "lc_messages": "C",
    "log_checkpoints": "off",
    "log_min_error_statement": "panic",  # statements may carry what does not belong into a log
    "client_connection_check_interval": "5s",  # a killed client's query ends, and its locks with it
}


def write(place: Place, data: Path, *, socket_folder: Path, extra: Mapping[str, str]) -> None:
    """Settings, and the door: peer authentication for exactly the users of this home."""
    settings = _SETTINGS | {"unix_socket_directories": f'"{socket_folder}"'} | dict(extra)
    lines = [f"{name} = '{_quoted(value)}'" for name, value in settings.items()]
    users = [f'{ROLE} "{name}" {ROLE}' for name in sorted({account.current().name, place.account.name})]
    _replace(data / "postgresql.conf", lines, place=place)
    _replace(data / "pg_hba.conf", [f"local all {ROLE} peer map={ROLE}"], place=place)
    _replace(data / "pg_ident.conf", users, place=place)


def _quoted(value: str) -> str:
    return value.replace("\\", "\\\\").replace("'", "''")


def _replace(path: Path, lines: list[str], *, place: Place) -> None:
    # By a new file, because for root the folder belongs to a lesser account, which might have laid a link there.
    fresh = path.with_suffix(".new")
    fresh.unlink(missing_ok=True)
    with os.fdopen(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as file:
        file.write("".join(f"{line}\n" for line in lines))
        place.account.take_over(file.fileno())
    fresh.replace(path)
