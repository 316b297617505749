"""What people get to see of offers that a run that waits would change: why it waits, how prices move, samples."""

from collections.abc import Collection, Iterator

from rich.console import RenderableType

from feedmill import views
from feedmill.documents import Document

_BAR = 40  # characters of the longest line
_SAMPLES = {
    "PRICE_FACTOR_SPIKE": ("price_factor_sample", "prices moved by a power of ten, a sample"),
    "CURRENCY_SPIKE": ("currency_sample", "in another currency, a sample"),
    "OUT_OF_STOCK_SPIKE": ("stock_sample", "sold out, a sample"),
}


def reasons(blocked: list[Document]) -> Iterator[RenderableType]:
    """A line per gate that held the run back, with the share that it found and the one that it allows."""
    for reason in blocked:
        yield f"\n{reason['code']}: {_SENTENCES[reason['code']](reason)}"


def _spike(reason: Document) -> str:
    found = f"{reason['would_expire_count']:,} of {reason['active_count_before']:,} products on the shelf would go"
    return f"{found}, {_share(reason, 'expire_percent')}"


def _url_hash(reason: Document) -> str:
    found = f"{reason['url_hash_fallback_count']:,} of {reason['products_upserted']:,} products"
    return f"{found} are known by their address only, {_share(reason, 'url_hash_fallback_percent')}"


def _price_factor(reason: Document) -> str:
    by = ", ".join(f"{count:,} near x {factor}" for factor, count in reason["by_factor"].items())
    found = f"{reason['moved_count']:,} of {reason['compared_count']:,} prices moved by a power of ten"
    return f"{found} ({by}), {_share(reason, 'moved_percent')}"


def _currency(reason: Document) -> str:
    found = f"{reason['changed_count']:,} of {reason['compared_count']:,} products changed currency"
    return f"{found}, {_share(reason, 'changed_percent')}"


def _stock(reason: Document) -> str:
    found = f"{reason['sold_out_count']:,} of {reason['in_stock_before_count']:,} products in stock sold out at once"
    return f"{found}, {_share(reason, 'sold_out_percent')}"


_SENTENCES = {
    "SPIKE_THRESHOLD_EXCEEDED": _spike,
    "DATA_QUALITY_URL_HASH_SPIKE": _url_hash,
    "PRICE_FACTOR_SPIKE": _price_factor,
    "CURRENCY_SPIKE": _currency,
    "OUT_OF_STOCK_SPIKE": _stock,
}


def _share(reason: Document, name: str) -> str:
    allowed = f"up to {reason['threshold_percent']:.0%}"
    if reason["threshold_absolute"] is not None:
        allowed += f" or {reason['threshold_absolute']:,} products"
    return f"{reason[name]:.1%}; {allowed} may pass"


def offer_changes(changes: Document, codes: Collection[str]) -> Iterator[RenderableType]:
    """How prices, currencies and stock would change, and a sample for each of the reasons."""
    if changes["factors"]:
        yield "\nprices by the factor of their move"
        yield _bars(changes["factors"])
    if changes["currencies"]:
        said = (f"{row['was']} -> {row['becomes']} {row['count']:,}" for row in changes["currencies"])
        yield f"\ncurrencies: {', '.join(said)}"
    if changes["stock"]:
        yield "\nstock: " + ", ".join(f"{count:,} {way.replace('_', ' ')}" for way, count in changes["stock"].items())
    for code, (name, title) in _SAMPLES.items():
        if code in codes and changes[name]:
            yield f"\n{title}"
            yield _sample(changes[name])


def _bars(bands: list[Document]) -> RenderableType:
    most = max(row["count"] for row in bands)
    rows = [(row["factor"], f"{row['count']:,}", "█" * max(1, round(_BAR * row["count"] / most))) for row in bands]
    return views.table(("factor", "products", ""), rows, numbers=("products",))


def _sample(rows: list[Document]) -> RenderableType:
    lines = [
        (
            row["identity_value"],
            views.cut(row["title"], 60),
            views.money(row["price_before"], row["currency_before"]),
            views.money(row["price_after"], row["currency_after"]),
            f"{_stock_word(row['in_stock_before'])} -> {_stock_word(row['in_stock_after'])}",
        )
        for row in rows
    ]  # fmt: skip - one row of the table
    head = ("identity", "title", "shown", "in the file", "stock")
    return views.table(head, lines, numbers=("shown", "in the file"))


def _stock_word(in_stock: bool) -> str:
    return "yes" if in_stock else "no"
