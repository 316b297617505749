"""What people get: tables, cards, sparklines."""

from collections.abc import Sequence
from datetime import datetime
from decimal import Decimal
from typing import Any

from rich.console import Group, RenderableType
from rich.table import Table

from db.clock import iso
from db.enums import ScheduleStatus
from feedmill.documents import Document
from tasks.catalogue.approval import waits

STATUS_TEXT = {
    ScheduleStatus.DRAFT: "Draft: never runs",
    ScheduleStatus.ENABLED: "Enabled",
    ScheduleStatus.PAUSED: "Paused by admin",
    ScheduleStatus.DISABLED: "Disabled due to repeated failures",
    ScheduleStatus.REMOVED: "Removed (archived)",
}
MASK = "••••••••"  # a stored secret; leaving it blank in `feeds set --password-stdin` keeps it
_BARS = "▁▂▃▄▅▆▇█"


def feed_table(feeds: list[Document]) -> RenderableType:
    if not feeds:
        return "No feeds on file yet. Add one with: feedmill feeds add KEY --retailer NAME --url URL"
    rows = [
        (
            feed["key"],
            feed["retailer"],
            STATUS_TEXT[feed["status"]],
            f"{feed['every_hours']} h" if feed["every_hours"] else "on request",
            when(feed["next_run_at"]),
            when(feed["last_run_at"]),
            feed["last_run_status"] or "",
            feed["url"],
        )
        for feed in feeds
    ]  # fmt: skip - one row of the table
    return table(("key", "retailer", "status", "every", "next run", "last run", "", "from"), rows)


def feed_card(feed: Document) -> RenderableType:
    gates = " ".join(f"{name}={_limits(value)}" for name, value in feed["gates"].items())
    stored = {name: MASK if feed[f"has_{name}"] else None for name in ("password", "private_key")}
    plain = {name: value for name, value in feed.items() if not name.startswith("has_")}
    shown = {"status": STATUS_TEXT[feed["status"]], "gates": gates, **stored}
    return card({**plain, **shown, "legacy_algorithms": ", ".join(feed["legacy_algorithms"])})


def _limits(value: object) -> str:
    """A gate's limits as one would set them."""
    if isinstance(value, dict):
        return ",".join(f"{part}:{value[part]}" for part in ("share", "least", "most") if part in value)
    return str(value or "off")


def run_table(runs: list[Document]) -> RenderableType:
    if not runs:
        return "No runs yet. Start one with: feedmill run KEY"
    rows = [
        (str(run["id"]), run["feed_key"], when(run["started_at"]), outcome(run), *map(said, _run_figures(run)))
        for run in runs
    ]
    head = ("run", "feed", "started", "outcome", "rows", "new", "changed", "gone", "prices", "rejected")
    return table(head, rows, numbers=head[4:])


def _run_figures(run: Document) -> tuple[Any, ...]:
    names = ("rows_read", "products_created", "products_changed", "products_vanished", "prices_written")
    return (*(run[name] for name in names), run["products_rejected"])


def outcome(run: Document) -> str:
    """A run's status with the reason that matters."""
    if waits(run):
        return f"{run['status']}, {_decision(run)} ({run['expiry_blocked_reason'] or 'EXPIRY_STEP_FAILED'})"
    reason = run["error_code"] or run["skipped_reason"]
    return f"{run['status']} ({reason})" if reason else str(run["status"])


def _decision(run: Document) -> str:
    if run["expiry_approved_at"]:
        return f"approved by {run['expiry_approved_by']}"
    return f"rejected by {run['expiry_rejected_by']}" if run["expiry_rejected_at"] else "not promoted"


def run_card(run: Document) -> RenderableType:
    """What matters of a run, and what is not empty of the rest."""
    shown = {
        "run": str(run["id"]),
        "feed": run["feed_key"],
        "outcome": outcome(run),
        "error": run["error_message"],
        "started": when(run["started_at"]),
        "took": f"{run['duration_ms'] / 1000:.1f} s" if run["duration_ms"] else None,
        "trigger": run["trigger"],
        "replays": said(run["replayed_from_run_id"]) if run["replayed_from_run_id"] else None,
        "downloaded": size(run["download_bytes"]),
        "rows": sum_of_rows(run),
        "products": sum_of_products(run),
        "prices written": run["prices_written"],
        "shelf": _shelf(run),
        "rejected because": run["expiry_rejected_reason"],
        "decide": _decide(run),
        "rejected": ", ".join(f"{code} {count:,}" for code, count in run["rejected_by_code"].items()),
    }
    return card({name: value for name, value in shown.items() if value not in {None, ""}})


def sum_of_rows(run: Document) -> str | None:
    if run["rows_read"] is None:
        return None
    parts = (f"{run['rows_read']:,} read = {run['products_upserted']:,} products",)
    more = (f"{run['products_rejected']:,} rejected", f"{run['duplicate_key_count']:,} duplicate")
    return " + ".join((*parts, *more))


def sum_of_products(run: Document) -> str | None:
    if run["products_upserted"] is None:
        return None
    names = ("created", "changed", "unchanged")
    return ", ".join(f"{run[f'products_{name}']:,} {name}" for name in names)


def _shelf(run: Document) -> str | None:
    if run["active_count_before"] is None:
        return None
    if run["promotion_seq"] is None:
        return f"as it was: {run['active_count_before']:,} on it, {run['would_expire_count']:,} of them would go"
    counts = f"{run['products_vanished']:,} gone, {run['products_returned']:,} back"
    return f"promotion {run['promotion_seq']}: {run['active_count_before']:,} before, {counts}"


def _decide(run: Document) -> str | None:
    if not waits(run) or run["expiry_approved_at"] or run["expiry_rejected_at"]:
        return None
    evidence = f"feedmill run-show {run['id']}"
    return f"{evidence}; then feedmill approve {run['id']} --by NAME, or reject it --by NAME --reason TEXT"


def offer_table(offers: list[Document]) -> RenderableType:
    if not offers:
        return "No offers. A feed shows offers once a run was promoted and it is primary (feeds add --primary)."
    rows = [
        (
            str(offer["source_product_id"]),
            offer["identity_value"],
            cut(offer["title"], 60),
            cut(offer["brand"], 20),
            money(offer["price"], offer["currency"]),
            money(offer["original_price"], offer["currency"]),
            "yes" if offer["in_stock"] else "no",
            when(offer["last_seen_success_at"]),
        )
        for offer in offers
    ]  # fmt: skip - one row of the table
    head = ("id", "identity", "title", "brand", "price", "before", "stock", "last seen")
    return Group(table(head, rows, numbers=("id", "price", "before")), f"\n{len(offers):,} offers")


def price_table(prices: list[Document]) -> RenderableType:
    rows = [
        (
            when(price["observed_at"]),
            money(price["price"], price["currency"]),
            money(price["original_price"], price["currency"]),
            "yes" if price["in_stock"] else "no",
            price["reason"],
            "yes" if price["promoted"] else "no",
            str(price["run_id"] or "-"),
        )
        for price in prices
    ]  # fmt: skip - one row of the table
    history = table(
        ("observed", "price", "before", "stock", "why", "promoted", "run"), rows, numbers=("price", "before")
    )
    return Group(history, f"\n{sparkline([price['price'] for price in prices])}") if len(prices) > 1 else history


def error_table(errors: list[Document]) -> RenderableType:
    if not errors:
        return "No row was rejected."
    rows = [
        (error["code"], said(error["row_number"]), error["message"], cut(error["raw_row"].replace("\t", " | "), 80))
        for error in errors
    ]
    return table(("code", "row", "what", "text"), rows, numbers=("row",))


def sparkline(values: Sequence[Decimal]) -> str:
    """A history in one line, lowest to highest."""
    low, high = min(values), max(values)
    span = high - low or 1
    return "".join(_BARS[int((value - low) / span * (len(_BARS) - 1))] for value in values)


def table(head: Sequence[str], rows: Sequence[Sequence[str]], *, numbers: Sequence[str] = ()) -> Table:
    made = Table(box=None, pad_edge=False, header_style="bold")
    for name in head:
        made.add_column(name, justify="right" if name in numbers else "left", overflow="fold")
    for row in rows:
        made.add_row(*row)
    return made


def card(facts: Document) -> Table:
    """A line per fact."""
    made = Table(box=None, show_header=False, pad_edge=False)
    made.add_column(style="bold", no_wrap=True)
    made.add_column(overflow="fold")
    for name, value in facts.items():
        made.add_row(name.replace("_", " "), said(value))
    return made


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
    return iso(moment.replace(microsecond=0)).replace("T", " ").replace("Z", "") if moment else "-"


def money(amount: Decimal | None, currency: str) -> str:
    return f"{amount:,.2f} {currency}" if amount is not None else "-"


def size(count: int | None) -> str | None:
    if count is None:
        return None
    return f"{count / 1e6:,.1f} MB" if count >= 1_000_000 else f"{count / 1e3:,.1f} kB"


def cut(text: str | None, length: int) -> str:
    text = text or ""
    return text if len(text) <= length else f"{text[: length - 1]}…"
