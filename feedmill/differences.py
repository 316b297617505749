"""What a run changed on the shelf, and what lies between two runs, told from promotions, spans and prices."""

from collections import Counter
from typing import Any
from uuid import UUID

from db import engine, offers
from db.engine import Connection, Row
from db.errors import BadRequestError, RefusedError
from feedmill.documents import Document
from feedmill.reading import find_run

_FACTS = ("price", "original_price", "currency", "in_stock")
COLUMNS = (
    "change",
    "identity_type",
    "identity_value",
    "title",
    "brand",
    "category",
    *(f"{name}_{side}" for name in _FACTS for side in ("before", "after")),
    "attributes_changed",
    "source_product_id",
)
_NOT_KEPT = "titles, brands and categories are today's: what an attribute said before a change is not kept"


def diff(run_id: str | UUID, other_id: str | UUID | None = None) -> Document:
    """What a run changed on the shelf, or what lies between two runs of a feed."""
    return of_run(run_id) if other_id is None else between(run_id, other_id)


def of_run(run_id: str | UUID) -> Document:
    """What a run changed on the shelf: nothing, if it was never promoted."""
    with engine.connect() as conn:
        run = find_run(conn, run_id)
        seq = run["promotion_seq"]
        rows = _rows(conn, run, before=seq - 1, after=seq) if seq is not None else []
    document = _document(run, rows, before=None if seq is None else seq - 1, after=seq)
    silent = (run["products_changed"] or 0) - document["counts"]["attributes_changed"] if seq is not None else 0
    if silent > 0:
        more = f"attributes of {silent:,} more products changed with this run; later runs have changed them again"
        document["not_told"].append(more)
    return document


def between(run_id: str | UUID, other_id: str | UUID) -> Document:
    """What differs from the shelf after one run to the shelf after the other, of one feed. Refuses runs that were never
    promoted: there is no shelf of theirs."""
    with engine.connect() as conn:
        run, other = find_run(conn, run_id), find_run(conn, other_id)
        if run["feed_id"] != other["feed_id"]:
            message = f"these are runs of two feeds, {run['feed_key']} and {other['feed_key']}"
            raise BadRequestError(message, code="TWO_FEEDS")
        before, after = (_promoted(found) for found in (run, other))
        rows = _rows(conn, other, before=before, after=after)
    return {**_document(other, rows, before=before, after=after), "run_before": run["id"]}


def _promoted(run: Row) -> int:
    if run["promotion_seq"] is None:
        message = f"the run {run['id']} never reached the shelf, so there is nothing to compare"
        raise RefusedError(message, code="NOT_PROMOTED", hint=f"see why with: feedmill run-show {run['id']}")
    return int(run["promotion_seq"])


def _rows(conn: Connection, run: Row, *, before: int, after: int) -> list[Document]:
    found = offers.select_shelf_diff(conn, run["tenant_id"], run["source_id"], before=before, after=after)
    return [{name: row[name] for name in COLUMNS} for row in found]


def _document(run: Row, rows: list[Document], *, before: int | None, after: int | None) -> Document:
    return {
        "feed_key": run["feed_key"],
        "run": run["id"],
        "is_promoted": after is not None,
        "promotion_before": before,
        "promotion_after": after,
        "counts": _counts(rows),
        "not_told": [_NOT_KEPT],
        "products": rows,
    }


def _counts(rows: list[Document]) -> dict[str, Any]:
    kinds = Counter(row["change"] for row in rows)
    stay = [row for row in rows if row["change"] == "changed"]
    return {
        **{name: kinds[name] for name in ("entered", "returned", "left", "changed")},
        "prices_changed": sum(_differs(row, "price", "original_price", "currency") for row in stay),
        "stock_changed": sum(_differs(row, "in_stock") for row in stay),
        "attributes_changed": sum(row["attributes_changed"] for row in rows),
    }


def _differs(row: Document, *names: str) -> bool:
    return any(row[f"{name}_before"] != row[f"{name}_after"] for name in names)
