"""The register of feeds: adding, changing, removing. One transaction each, with its audit events inside."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any

from db import feeds, ledger
from db.clock import Clock
from db.engine import Connection, Row, transaction
from db.enums import ScheduleStatus, SecretKind, Transport, UnchangedPolicy
from db.errors import BadRequestError, RefusedError
from db.jobs import Key
from tasks import audit, keyring, secrets
from tasks import ledger as kernel
from tasks.catalogue.config import EXPIRY_HOURS, Address, valid_range

PIPELINE = "catalogue"


@dataclass(frozen=True)
class FeedSettings:
    """What a person decides about a feed; the values are valid already."""

    address: Address
    every_hours: int | None = None
    expiry_hours: int = 48
    heartbeat_hours: int = 24
    unchanged_policy: UnchangedPolicy = UnchangedPolicy.AGE
    gates: Mapping[str, Any] = field(default_factory=dict)
    host_key_fingerprint: str | None = None
    legacy_algorithms: tuple[str, ...] = ()
    max_file_size_bytes: int | None = None
    max_row_count: int | None = None
    max_product_count: int | None = None
    account_id: str | None = None
    tracking_template: str | None = None

    def __post_init__(self) -> None:
        """The expiry hours decide what is safe to show, so they are checked at this door too, not only by commands."""
        valid_range(self.expiry_hours, EXPIRY_HOURS, "--expiry-hours")

    @property
    def interval_seconds(self) -> int | None:
        return self.every_hours * 3600 if self.every_hours else None

    def columns(self) -> dict[str, Any]:
        """As the table of feed settings has them."""
        flat = asdict(self)
        listed = {"compression": self.address.compression, "legacy_algorithms": list(self.legacy_algorithms)}
        return {**flat, **flat.pop("address"), **listed}


@dataclass(frozen=True)
class NewFeed:
    key: str
    tenant_id: str
    retailer: str
    settings: FeedSettings
    is_enabled: bool = False
    is_primary: bool = False


@dataclass(frozen=True)
class Actor:
    """Who acts, and by which clock."""

    name: str
    clock: Clock = field(default_factory=Clock)


def find_feed(conn: Connection, key: str) -> Row:
    """The feed of this key; refuses one that does not exist."""
    tenant_id = feeds.select_tenant_of(conn, key)
    feed = feeds.select_feed(conn, tenant_id, key) if tenant_id else None
    if feed is None:
        message = f"there is no feed {key!r}"
        raise BadRequestError(message, code="UNKNOWN_FEED", hint="see the feeds on file with: feedmill feeds list")
    return feed


def find_tenant(conn: Connection, tenant_id: str) -> Row:
    """The tenant of this name; refuses one that does not exist."""
    tenant = ledger.select_tenant(conn, tenant_id)
    if tenant is None:
        message = f"there is no tenant {tenant_id!r}"
        raise BadRequestError(message, code="UNKNOWN_TENANT")
    return tenant


def add_feed(conn: Connection, new: NewFeed, actor: Actor) -> Row:
    """The feed as stored. Draft unless it is to be enabled; shown to nobody unless it is to be primary."""
    now = actor.clock.now()
    status = ScheduleStatus.ENABLED if new.is_enabled else ScheduleStatus.DRAFT
    with transaction(conn):
        schedule = ledger.NewSchedule(
            tenant_id=new.tenant_id,
            pipeline=PIPELINE,
            key=new.key,
            status=status,
            interval_seconds=new.settings.interval_seconds,
            next_run_at=next_slot(now, new.settings.interval_seconds),
        )
        schedule_id = ledger.insert_schedule(conn, schedule, now=now)
        source_id = _insert_source(conn, new, now=now)
        columns = {**new.settings.columns(), "schedule_id": schedule_id, "source_id": source_id}
        feeds.insert_feed_settings(conn, {**columns, "created_by": actor.name}, now=now)
        if new.is_primary:
            make_primary(conn, source_id, now=now)
        feeds.append_setting_log(conn, source_id, at=now)
        feed = find_feed(conn, new.key)
        note(conn, feed, actor.name, "FEED_CREATED", at=now, source_id=source_id, network=feed["network"])
        if new.settings.address.transport is Transport.FTP:
            note(conn, feed, actor.name, "INSECURE_TRANSPORT_SELECTED", at=now, transport=Transport.FTP)
    return feed


def _insert_source(conn: Connection, new: NewFeed, *, now: datetime) -> int:
    retailer_id = feeds.upsert_retailer(conn, new.tenant_id, new.retailer, now=now)
    source = {
        "tenant_id": new.tenant_id,
        "retailer_id": retailer_id,
        "name": new.key,
        "account_id": new.settings.account_id,
        "tracking_template": new.settings.tracking_template,
    }
    return feeds.insert_source(conn, source, now=now)


def set_password(
    conn: Connection, key: str, secret: str, actor: Actor, *, kind: SecretKind = SecretKind.PASSWORD
) -> None:
    """Encrypt a password or private key into the feed. Called inside the transaction of `add_feed`, or on its own."""
    with transaction(conn):
        feed = hold_feed(conn, key)
        at = stamp(conn, feed, actor)
        feeds.lock_key_in_use(conn)  # before it is read: whoever replaces it waits, and finds what is written here
        encryption_key = keyring.load_key() if feeds.count_secrets(conn) else keyring.first_key()
        version = feed["secret_version"] + (feed["secret_ciphertext"] is not None)
        ciphertext = secrets.encrypt_secret(secret, feed_id=feed["id"], secret_version=version, key=encryption_key)
        sealed = {
            "secret_kind": kind,
            "secret_ciphertext": ciphertext,
            "secret_key_id": secrets.key_id(encryption_key),
            "secret_version": version,
        }
        feeds.update_secret(conn, feed["id"], sealed, now=at)
        note(conn, feed, actor.name, "CREDENTIAL_CHANGED", at=at, field_name=kind.lower())


def make_primary(conn: Connection, source_id: int, *, now: datetime) -> None:
    """Show this source instead of any other of its retailer. The caller notes its settings."""
    feeds.lock_retailer(conn, source_id)  # two at once would each see no other primary
    for other in feeds.lock_other_primaries(conn, source_id):
        at = max(now, other["last_stamp_at"] or now)
        feeds.mark_primary(conn, other["id"], is_primary=False, now=at)
        feeds.append_setting_log(conn, other["id"], at=at)
        feeds.mark_stamp(conn, other["id"], at)
    feeds.mark_primary(conn, source_id, is_primary=True, now=now)


def settings_of(feed: Row) -> FeedSettings:
    """The stored settings of a feed, ready to be changed."""
    address = Address(feed["transport"], feed["host"], feed["port"], feed["path"], feed["username"])
    names = ("expiry_hours", "heartbeat_hours", "unchanged_policy", "gates", "host_key_fingerprint")
    limits = ("max_file_size_bytes", "max_row_count", "max_product_count")
    return FeedSettings(
        address=address,
        every_hours=feed["schedule_frequency_hours"],
        account_id=feed["affiliate_account_id"],
        tracking_template=feed["affiliate_tracking_template"],
        legacy_algorithms=tuple(feed["legacy_algorithms"]),
        **{name: feed[name] for name in (*names, *limits)},
    )


def change_feed(conn: Connection, key: str, changes: Mapping[str, Any], actor: Actor) -> tuple[Row, list[str]]:
    """The feed after the changes, and the names of the settings that really changed."""
    with transaction(conn):
        before = hold_feed(conn, key)
        old = settings_of(before)
        new = replace(old, **{**changes, "gates": merged_gates(old.gates, changes.get("gates", {}))})
        changed = [name for name in changes if getattr(old, name) != getattr(new, name)]
        if changed:
            _write_changes(conn, before, new=new, changed=changed, actor=actor)
        return find_feed(conn, key), changed


def merged_gates(old: Mapping[str, Any], new: Mapping[str, Any]) -> dict[str, Any]:
    """The gates after a change: what is not named stays, None means the default again."""
    return {name: value for name, value in {**old, **new}.items() if value is not None}


def _write_changes(conn: Connection, before: Row, *, new: FeedSettings, changed: list[str], actor: Actor) -> None:
    at = stamp(conn, before, actor)
    feeds.update_feed_settings(conn, {**new.columns(), "id": before["id"]}, now=at)
    source = {"id": before["source_id"], "account_id": new.account_id, "tracking_template": new.tracking_template}
    feeds.update_source(conn, source, now=at)
    if "every_hours" in changed:
        may_run = before["status"] in {ScheduleStatus.DRAFT, ScheduleStatus.ENABLED}
        ledger.mark_schedule(
            conn,
            before["schedule_id"],
            status=before["status"],
            interval_seconds=new.interval_seconds,
            next_run_at=next_slot(at, new.interval_seconds) if may_run else None,
            now=at,
        )
    if "expiry_hours" in changed:
        feeds.append_setting_log(conn, before["source_id"], at=at)
        values = {"old_value": before["expiry_hours"], "new_value": new.expiry_hours}
        note(conn, before, actor.name, "EXPIRY_HOURS_CHANGED", at=at, **values)
    if new.address.transport is Transport.FTP and before["transport"] != Transport.FTP:
        note(conn, before, actor.name, "INSECURE_TRANSPORT_SELECTED", at=at, transport=Transport.FTP)
    note(conn, before, actor.name, "FEED_UPDATED", at=at, changed_fields=changed)


def remove_feed(conn: Connection, key: str, actor: Actor) -> Row:
    """The feed, archived: it never runs again, its offers leave at once, its password goes, its history stays."""
    with transaction(conn):
        feed = hold_feed(conn, key)
        at = stamp(conn, feed, actor)
        ledger.mark_schedule(
            conn,
            feed["schedule_id"],
            status=ScheduleStatus.REMOVED,
            interval_seconds=None,
            next_run_at=None,
            now=at,
        )
        feeds.mark_primary(conn, feed["source_id"], is_primary=False, now=at)
        feeds.append_setting_log(conn, feed["source_id"], at=at, is_removed=True)
        feeds.delete_secret(conn, feed["id"], now=at)
        reason = RefusedError("removed before it started", code="FEED_REMOVED")
        kernel.cancel(conn, key_of(feed), reason=reason, actor=actor.name, now=at)
        statuses = {"old_status": feed["status"], "new_status": ScheduleStatus.REMOVED}
        note(conn, feed, actor.name, "FEED_STATUS_CHANGED", at=at, **statuses)
        return find_feed(conn, key)


def hold_feed(conn: Connection, key: str) -> Row:
    """The feed, kept from changing until the transaction ends; refuses one that was removed."""
    ledger.lock_schedule(conn, PIPELINE, key)
    feed = find_feed(conn, key)
    if feed["status"] == ScheduleStatus.REMOVED:
        message = f"the feed {key!r} was removed; its history can be read, nothing can be changed"
        raise RefusedError(message, code="FEED_REMOVED")
    return feed


def stamp(conn: Connection, feed: Row, actor: Actor) -> datetime:
    """The time of an action on this feed, remembered as its latest."""
    at = actor.clock.stamp(feed["last_stamp_at"])
    feeds.mark_stamp(conn, feed["source_id"], at)
    return at


def next_slot(now: datetime, interval_seconds: int | None) -> datetime | None:
    return now + timedelta(seconds=interval_seconds) if interval_seconds else None


def note(conn: Connection, feed: Row, actor: str, event_name: str, *, at: datetime, **fields: Any) -> None:
    """One audit event on this feed."""
    audit.note(conn, key_of(feed), event_name, actor=actor, at=at, feed_id=feed["id"], **fields)


def key_of(feed: Row) -> Key:
    return Key(feed["tenant_id"], PIPELINE, feed["feed_key"])
