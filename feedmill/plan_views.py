"""What people get of a plan: the sums, what comes and goes, the prices that move, as a picture, and the gates."""

from collections.abc import Iterator

from rich.console import Group, RenderableType

from feedmill import views
from feedmill.documents import Document

_WIDTH = 40  # of the longest bar
_EIGHTHS = " ▏▎▍▌▋▊▉█"
_KINDS = {"new": "would come", "returned": "would come back", "vanished": "would go", "changed": "would change"}


def plan_report(plan: Document) -> RenderableType:
    return Group(*_sections(plan))


def _sections(plan: Document) -> Iterator[RenderableType]:
    yield views.card({name: value for name, value in _facts(plan).items() if value not in {None, ""}})
    for kind, title in _KINDS.items():
        if plan["samples"][kind]:
            yield _products(plan["samples"][kind], title)
    if plan["samples"]["price_moves"]:
        yield "\nprices that would move"
        yield _picture(plan["price_distribution"])
        yield _moves(plan["samples"]["price_moves"])
    yield from (f"\ngate: {_reason(reason)}" for reason in plan["blocked_reasons"])
    if plan["is_busy"]:
        yield "\nA run or an approval of this feed is under way: what it changes is not in this plan."
    yield f"\ndigest {plan['digest']}\ngo ahead with: feedmill run {plan['feed_key']} --plan {plan['digest']}"


def _facts(plan: Document) -> Document:
    changes = plan["shelf_changes"]
    return {
        "feed": plan["feed_key"],
        "file": f"{views.size(plan['download_bytes'])}, SHA-256 {plan['content_hash'][:16]}…",
        "unchanged": "the file that was processed last; a run without the plan skips it"
        if plan["would_skip"]
        else None,
        "rows": views.sum_of_rows(plan),
        "rejected": ", ".join(f"{code} {count:,}" for code, count in plan["rejected_by_code"].items()),
        "products": views.sum_of_products(plan),
        "prices to write": ", ".join(
            f"{count:,} {reason}" for reason, count in plan["prices_by_reason"].items() if count
        ),
        "shelf": f"{plan['active_count_before']:,} on it, {plan['products_vanished']:,} would go, "
        f"{plan['products_entering']:,} would come, {plan['products_returned']:,} of them back",
        "prices": f"{changes['prices_up']:,} up, {changes['prices_down']:,} down"
        if plan["active_count_before"]
        else None,
        "stock": f"{changes['sold_out']:,} sold out, {changes['restocked']:,} restocked"
        if plan["active_count_before"]
        else None,
        "currencies": f"{changes['currencies_changed']:,} changed" if changes["currencies_changed"] else None,
        "outcome": "would wait for a person" if plan["expiry_blocked"] else "would go on the shelf",
    }


def _products(sample: list[Document], title: str) -> RenderableType:
    rows = [
        (
            row["identity_value"],
            views.cut(row["title"], 60),
            views.cut(row["brand"], 20),
            views.money(row["price"] if row["price"] is not None else row["price_shown"], row["currency"]),
            ", ".join(row["fields_changed"]),
        )
        for row in sample
    ]  # fmt: skip - one row of the table
    return Group("", views.table((f"{title}, the first", "title", "brand", "price", ""), rows, numbers=("price",)))


def _picture(bins: list[Document]) -> RenderableType:
    most = max(part["count"] for part in bins)
    rows = [(_span(part), _bar(part["count"] / most), f"{part['count']:,}") for part in bins]
    return views.table(("by", "", "products"), rows, numbers=("by", "products"))


def _span(part: Document) -> str:
    if part["above"] is None:
        return f"{part['up_to']:+d}% and lower"
    if part["up_to"] is None:
        return f"over {part['above']:+d}%"
    return f"{part['above']:+d}% to {part['up_to']:+d}%".replace("+0%", "0%")


def _bar(share: float) -> str:
    """Anything at all shows."""
    eighths = max(round(share * _WIDTH * 8), 1 if share else 0)
    return "█" * (eighths // 8) + _EIGHTHS[eighths % 8].strip()


def _moves(sample: list[Document]) -> RenderableType:
    rows = [
        (
            row["identity_value"],
            views.cut(row["title"], 60),
            views.money(row["price_shown"], row["currency"]),
            views.money(row["price"], row["currency"]),
            f"x {row['factor']:.2f}",
        )
        for row in sample
    ]  # fmt: skip - one row of the table
    head = ("the furthest", "title", "shown", "in the file", "factor")
    return Group("", views.table(head, rows, numbers=("shown", "in the file")))


def _reason(reason: Document) -> str:
    figures = ", ".join(
        f"{name.replace('_', ' ')} {_figure(value)}" for name, value in reason.items() if name != "code"
    )
    return f"{reason['code']} ({figures})" if figures else str(reason["code"])


def _figure(value: object) -> str:
    if isinstance(value, dict):
        return " and ".join(f"{name}: {_figure(part)}" for name, part in value.items())
    return f"{value:.2%}" if isinstance(value, float) else views.said(value)
