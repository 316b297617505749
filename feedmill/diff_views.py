"""What people get of a difference between two shelves: the sums, and the first products."""

from collections.abc import Iterator

from rich.console import Group, RenderableType

from feedmill import views
from feedmill.documents import Document


def diff_report(diff: Document, *, limit: int) -> RenderableType:
    return Group(*_sections(diff, limit))


def _sections(diff: Document, limit: int) -> Iterator[RenderableType]:
    if not diff["is_promoted"]:
        yield f"The run {diff['run']} never reached the shelf, so it changed nothing there."
        return
    shelves = f"{diff['promotion_before'] or 'empty'} -> {diff['promotion_after']}"
    sums = {name.replace("_", " "): count for name, count in diff["counts"].items()}
    yield views.card({"feed": diff["feed_key"], "promotion": shelves, **sums})
    if diff["products"]:
        yield ""
        yield _table(diff["products"][:limit])
    if len(diff["products"]) > limit:
        yield f"\n{len(diff['products']) - limit:,} more; all of them with --csv or --json"
    yield "\n" + "; ".join(diff["not_told"])


def _table(rows: list[Document]) -> RenderableType:
    lines = [
        (
            row["change"],
            row["identity_value"],
            views.cut(row["title"], 50),
            views.money(row["price_before"], row["currency_before"]),
            views.money(row["price_after"], row["currency_after"]),
            _rest(row),
        )
        for row in rows
    ]  # fmt: skip - one row of the table
    head = ("", "identity", "title", "before", "after", "and")
    return views.table(head, lines, numbers=("before", "after"))


def _rest(row: Document) -> str:
    """What else a shopper would notice of a product that stayed."""
    said = []
    if row["change"] == "changed":
        if row["in_stock_before"] != row["in_stock_after"]:
            said.append("restocked" if row["in_stock_after"] else "sold out")
        if row["original_price_before"] != row["original_price_after"]:
            was, now = (views.money(row[f"original_price_{side}"], "").strip() for side in ("before", "after"))
            said.append(f"list price {was} -> {now}")
    if row["attributes_changed"]:
        said.append("attributes")
    return ", ".join(said)
