"""The statements on feeds, their sources and retailers."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from psycopg.types.json import Jsonb

from db.engine import Connection, Row, only_row
from db.sql import load_sql


def upsert_retailer(conn: Connection, tenant_id: str, name: str, *, now: datetime) -> int:
    """The retailer's id, old or new."""
    params = {"tenant_id": tenant_id, "name": name, "now": now}
    return int(only_row(conn.execute(load_sql("catalogue/upsert_retailer"), params))["id"])


def insert_source(conn: Connection, source: Mapping[str, Any], *, now: datetime) -> int:
    return int(only_row(conn.execute(load_sql("catalogue/insert_source"), {**source, "now": now}))["id"])


def insert_feed_settings(conn: Connection, settings: Mapping[str, Any], *, now: datetime) -> int:
    return int(only_row(conn.execute(load_sql("catalogue/insert_feed_settings"), _params(settings, now)))["id"])


def update_feed_settings(conn: Connection, settings: Mapping[str, Any], *, now: datetime) -> None:
    conn.execute(load_sql("catalogue/update_feed_settings"), _params(settings, now))


def mark_host_key(conn: Connection, feed_id: int, fingerprint: str, *, now: datetime) -> bool:
    """False if another key is pinned already, which stays."""
    params = {"id": feed_id, "fingerprint": fingerprint, "now": now}
    return conn.execute(load_sql("catalogue/mark_host_key"), params).fetchone() is not None


def update_secret(conn: Connection, feed_id: int, secret: Mapping[str, Any], *, now: datetime) -> None:
    conn.execute(load_sql("catalogue/update_secret"), {**secret, "id": feed_id, "now": now})


def delete_secret(conn: Connection, feed_id: int, *, now: datetime) -> None:
    conn.execute(load_sql("catalogue/delete_secret"), {"id": feed_id, "now": now})


def count_secrets(conn: Connection) -> int:
    """How many feeds, of every tenant, have a stored secret."""
    return int(only_row(conn.execute(load_sql("catalogue/count_secrets")))["secret_count"])


def lock_key_in_use(conn: Connection) -> None:
    """Until the transaction ends, nobody replaces the key of stored secrets."""
    conn.execute(load_sql("catalogue/lock_key_in_use"))


def lock_key(conn: Connection) -> None:
    """Until the transaction ends, nobody encrypts a secret."""
    conn.execute(load_sql("catalogue/lock_key"))


def lock_secrets(conn: Connection, key_id: str) -> list[Row]:
    """The feeds whose secret is under another key than this one, held until the transaction ends."""
    return conn.execute(load_sql("catalogue/lock_secrets"), {"key_id": key_id}).fetchall()


def mark_rotated(conn: Connection, feed_id: int, secret: Mapping[str, Any]) -> None:
    conn.execute(load_sql("catalogue/mark_rotated"), {**secret, "id": feed_id})


def update_source(conn: Connection, source: Mapping[str, Any], *, now: datetime) -> None:
    conn.execute(load_sql("catalogue/update_source"), {**source, "now": now})


def mark_stamp(conn: Connection, source_id: int, at: datetime) -> None:
    conn.execute(load_sql("catalogue/mark_stamp"), {"source_id": source_id, "at": at})


def mark_primary(conn: Connection, source_id: int, *, is_primary: bool, now: datetime) -> None:
    params = {"source_id": source_id, "is_primary": is_primary, "now": now}
    conn.execute(load_sql("catalogue/mark_primary"), params)


def lock_retailer(conn: Connection, source_id: int) -> None:
    conn.execute(load_sql("catalogue/lock_retailer"), {"source_id": source_id})


def lock_other_primaries(conn: Connection, source_id: int) -> list[Row]:
    """The retailer's other primary sources, held until the transaction ends."""
    return conn.execute(load_sql("catalogue/lock_other_primaries"), {"source_id": source_id}).fetchall()


def append_setting_log(conn: Connection, source_id: int, *, at: datetime, is_removed: bool = False) -> None:
    params = {"source_id": source_id, "at": at, "is_removed": is_removed}
    conn.execute(load_sql("catalogue/append_setting_log"), params)


def select_tenant_of(conn: Connection, key: str) -> str | None:
    """Whose feed it is: keys are unique over all tenants. For operators, who act for any of them."""
    row = conn.execute(load_sql("catalogue/select_tenant_of_feed"), {"key": key}).fetchone()
    return row["tenant_id"] if row else None


def select_feed(conn: Connection, tenant_id: str, key: str) -> Row | None:
    return conn.execute(load_sql("catalogue/select_feed"), {"tenant_id": tenant_id, "key": key}).fetchone()


def select_feeds(conn: Connection, tenant_id: str, *, with_removed: bool = False) -> list[Row]:
    params = {"tenant_id": tenant_id, "with_removed": with_removed}
    return conn.execute(load_sql("catalogue/select_feeds"), params).fetchall()


def _params(settings: Mapping[str, Any], now: datetime) -> dict[str, Any]:
    return {**settings, "gates": Jsonb(settings["gates"]), "now": now}
