"""The statements of the archive, which all tenants share: a file is known by its hash alone."""

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

from db.engine import Connection
from db.sql import load_sql


def mark_artifact(conn: Connection, run_id: UUID, url: str) -> None:
    conn.execute(load_sql("catalogue/mark_artifact"), {"run_id": run_id, "artifact_url": url})


def select_used_hashes(conn: Connection, hashes: Sequence[str], *, since: datetime) -> set[str]:
    """Of these files, those that some run used since then."""
    rows = conn.execute(load_sql("catalogue/select_used_hashes"), {"hashes": list(hashes), "since": since})
    return {row["content_hash"] for row in rows}
