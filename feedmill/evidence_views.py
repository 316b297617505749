"""What people get to decide on a run that waits: what would go and come, the prices that move most, the runs before."""

from collections.abc import Iterator

from rich.console import Group, RenderableType

from feedmill import change_views, views
from feedmill.documents import Document


def run_report(run: Document, evidence: Document | None) -> RenderableType:
    """A run as its card, and under it the evidence if it waits or waited."""
    if evidence is None:
        return views.run_card(run)
    return Group(views.run_card(run), evidence_report(evidence))


def evidence_report(evidence: Document) -> RenderableType:
    return Group(*_sections(evidence))


def _sections(evidence: Document) -> Iterator[RenderableType]:
    counts = (evidence["would_expire_count"], evidence["active_count_before"], evidence["expire_share"])
    codes = {reason["code"] for reason in evidence["blocked_reasons"]}
    if None not in counts and "SPIKE_THRESHOLD_EXCEEDED" not in codes:
        yield "\n{:,} of {:,} products on the shelf would go, {:.1%}".format(*counts)
    yield from change_views.reasons(evidence["blocked_reasons"])
    for name, title in (("would_go", "would go"), ("would_come", "would come")):
        if evidence.get(name, {}).get("sample"):
            yield from _moves(evidence[name], title)
    if evidence.get("price_moves"):
        yield "\nprices that would move most"
        yield _price_moves(evidence["price_moves"])
    if evidence.get("offer_changes"):
        yield from change_views.offer_changes(evidence["offer_changes"], codes)
    yield "\nthis run and those before it"
    yield _runs([evidence, *evidence["runs_before"]])


def _moves(moves: Document, title: str) -> Iterator[RenderableType]:
    for kind in ("brand", "category"):
        groups = ", ".join(f"{row[kind] or 'none'} {row['count']:,}" for row in moves[f"by_{kind}"])
        yield f"\n{title}, most by {kind}: {groups}"
    rows = [
        (
            row["identity_value"],
            views.cut(row["title"], 60),
            views.cut(row["brand"], 20),
            views.cut(row["category"], 30),
            views.money(row["price"], row["currency"]),
        )
        for row in moves["sample"]
    ]  # fmt: skip - one row of the table
    yield views.table((f"{title}, a sample", "title", "brand", "category", "price"), rows, numbers=("price",))


def _price_moves(moves: list[Document]) -> RenderableType:
    rows = [
        (
            row["identity_value"],
            views.cut(row["title"], 60),
            views.money(row["price_before"], row["currency"]),
            views.money(row["price_after"], row["currency"]),
            f"x {row['factor']:.2f}",
        )
        for row in moves
    ]  # fmt: skip - one row of the table
    return views.table(("identity", "title", "shown", "in the file", "factor"), rows, numbers=("shown", "in the file"))


def _runs(figures: list[Document]) -> RenderableType:
    rows = [
        (
            views.when(run["started_at"]),
            _outcome(run),
            *(views.said(run[name]) for name in ("rows_read", "active_count_before", "would_expire_count")),
            f"{run['expire_share']:.1%}" if run["expire_share"] is not None else "-",
            views.said(run["url_hash_fallback_count"]),
        )
        for run in figures
    ]  # fmt: skip - one row of the table
    head = ("started", "outcome", "rows", "on the shelf", "would go", "share", "by address only")
    return views.table(head, rows, numbers=head[2:])


def _outcome(run: Document) -> str:
    if run["promotion_seq"] is not None:
        return "approved" if run["expiry_approved_at"] else "promoted"
    return run["expiry_blocked_reason"] or ("EXPIRY_STEP_FAILED" if run["expiry_step_failed"] else str(run["status"]))
