"""How feeds look: the document for machines, tables for people."""

from datetime import datetime
from typing import Any

from rich.table import Table

from db.clock import iso
from db.engine import Row
from db.enums import ScheduleStatus
from tasks.catalogue.config import DEFAULT_MAX_BYTES, DEFAULT_MAX_ROWS, shown_address

STATUS_TEXT = {
    ScheduleStatus.DRAFT: "Draft: never runs",
    ScheduleStatus.ENABLED: "Enabled",
    ScheduleStatus.PAUSED: "Paused by admin",
    ScheduleStatus.DISABLED: "Disabled due to repeated failures",
    ScheduleStatus.REMOVED: "Removed",
}


def feed_document(feed: Row) -> dict[str, Any]:
    same = (
        "status", "expiry_hours", "heartbeat_hours", "next_run_at", "last_run_at", "consecutive_failures",
        "manual_run_pending", "gates", "host_key_fingerprint", "created_at", "updated_at", "created_by",
    )  # fmt: skip - a list of names
    return {
        "key": feed["feed_key"],
        "tenant": feed["tenant_id"],
        "retailer": feed["retailer"],
        "url": shown_address(feed),
        "every_hours": feed["schedule_frequency_hours"],
        "is_primary": feed["is_display_primary"],
        "unchanged": feed["unchanged_policy"],
        "has_password": feed["secret_ciphertext"] is not None,
        "max_bytes": feed["max_file_size_bytes"] or DEFAULT_MAX_BYTES,
        "max_rows": feed["max_row_count"] or DEFAULT_MAX_ROWS,
        "tracking_template": feed["affiliate_tracking_template"],
        "account_id": feed["affiliate_account_id"],
        **{name: feed[name] for name in same},
    }


def feed_table(feeds: list[Row]) -> Table | str:
    if not feeds:
        return "No feeds on file yet. Add one with: feedmill feeds add KEY --retailer NAME --url URL"
    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in ("key", "retailer", "status", "every", "next run", "last run", "", "from"):
        table.add_column(column, no_wrap=column != "from", overflow="fold")
    for feed in feeds:
        every = f"{feed['schedule_frequency_hours']} h" if feed["schedule_frequency_hours"] else "on request"
        table.add_row(
            feed["feed_key"], feed["retailer"], STATUS_TEXT[feed["status"]], every, when(feed["next_run_at"]),
            when(feed["last_run_at"]), feed["last_run_status"] or "", shown_address(feed),
        )  # fmt: skip - one row of the table
    return table


def feed_card(feed: Row) -> Table:
    """One feed, a line per fact."""
    document = {**feed_document(feed), "status": STATUS_TEXT[feed["status"]]}
    document["gates"] = ", ".join(f"{name}={value or 'off'}" for name, value in feed["gates"].items())
    return card(document)


def card(document: dict[str, Any]) -> Table:
    table = Table(box=None, show_header=False, pad_edge=False)
    table.add_column(style="bold", no_wrap=True)
    table.add_column(overflow="fold")
    for name, value in document.items():
        table.add_row(name.replace("_", " "), said(value))
    return table


def said(value: object) -> str:
    """A value as a person reads it."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, datetime):
        return when(value)
    if isinstance(value, int):
        return f"{value:,}"
    return "-" if value is None or value == "" else str(value)


def when(moment: datetime | None) -> str:
    return iso(moment.replace(microsecond=0)).replace("T", " ").replace("Z", " UTC") if moment else "-"
