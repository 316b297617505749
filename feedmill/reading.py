"""The reading API, for notebooks and the command line: offers, prices, runs and feeds as plain documents."""

from collections.abc import Collection
from datetime import datetime
from typing import Any
from uuid import UUID

from db import catalogue, engine
from db import feeds as feed_rows
from db import offers as shelf
from db.clock import Clock, future_allowed, iso, system_now
from db.engine import Connection, Row
from db.enums import IdentityType
from db.errors import BadRequestError
from feedmill import documents
from tasks.catalogue import breaker, factors
from tasks.catalogue.approval import waits
from tasks.catalogue.registry import find_feed, find_tenant

Document = dict[str, Any]

RUNS_BEFORE, SAMPLE, GROUPS, PRICE_MOVES = 10, 10, 5, 5  # of the evidence on a run that waits

_SAMPLED = {"PRICE_FACTOR_SPIKE": "price_factor", "CURRENCY_SPIKE": "currency", "OUT_OF_STOCK_SPIKE": "stock"}
_PREFIXES = {"item": IdentityType.IMPACT_ITEM_ID, "sku": IdentityType.SKU, "url": IdentityType.URL_HASH}


def feeds(*, tenant: str = "default", with_removed: bool = False) -> list[Document]:
    """The feeds on file."""
    with engine.connect() as conn:
        find_tenant(conn, tenant)
        return [documents.feed(row) for row in feed_rows.select_feeds(conn, tenant, with_removed=with_removed)]


def offers(
    key: str | None = None,
    *,
    at: datetime | None = None,
    limit: int | None = None,
    after: int = 0,
    tenant: str = "default",
) -> list[Document]:
    """What a shopper may see, ordered by id: now, or at a past moment."""
    if at is not None and at > system_now() and not future_allowed():
        message = f"{iso(at)} lies in the future"
        raise BadRequestError(message, code="AT_IN_FUTURE", hint="demos and tests set FEEDMILL_TEST_CLOCK=1")
    with engine.connect() as conn:
        tenant = _whose(conn, key, tenant)
        rows = shelf.select_offers(conn, tenant, key, at=at, after=after, limit=limit)
    return [documents.offer(row) for row in rows]


def _whose(conn: Connection, key: str | None, tenant: str) -> str:
    """The tenant of the feed, or the one named; refuses one that does not exist. An empty key is a wrong one."""
    whose: str = find_tenant(conn, tenant)["id"] if key is None else find_feed(conn, key)["tenant_id"]
    return whose


def prices(key: str, identity: str) -> list[Document]:
    """The history of one product, oldest first. `identity` is item:X, sku:X, url:HASH or a bare unique value."""
    with engine.connect() as conn:
        product = find_product(conn, key, identity)
        return [documents.price(row) for row in shelf.select_prices(conn, product["tenant_id"], product["id"])]


def plan(key: str, *, clock: Clock | None = None, sample: int = 10) -> Document:
    """What a run of the feed would do now, with so many products of each kind. Fetches the file, writes nothing."""
    from tasks.catalogue.planning import plan_feed  # noqa: PLC0415 - brings the network

    return documents.plan(plan_feed(key, clock or Clock(), sample=sample))


def runs(key: str | None = None, *, limit: int | None = 20, tenant: str = "default") -> list[Document]:
    """Runs, newest first."""
    with engine.connect() as conn:
        tenant = _whose(conn, key, tenant)
        return [documents.run(row) for row in catalogue.select_runs(conn, tenant, key, limit=limit)]


def run(run_id: str | UUID) -> Document:
    """One run."""
    with engine.connect() as conn:
        return documents.run(find_run(conn, run_id))


def evidence(run_id: str | UUID) -> Document | None:
    """What a person needs to decide on a run that waits: its reasons, what would go, come and change, the runs before.

    None for a run that nothing held back. What it saw is told until a later file or an approval has used it up.
    """
    with engine.connect() as conn:
        found = find_run(conn, run_id)
        if not waits(found):
            return None
        of = (conn, found["tenant_id"], found["id"])
        before = [documents.figures(row) for row in shelf.select_runs_before(*of, limit=RUNS_BEFORE)]
        figures = {**documents.figures(found), "blocked_reasons": found["blocked_reasons"]}
        if not shelf.select_sighted(*of):
            return {**figures, "runs_before": before}
        return {
            **figures,
            "would_go": _moves(*of, entering=False),
            "would_come": _moves(*of, entering=True),
            "price_moves": shelf.select_price_moves(*of, limit=PRICE_MOVES),
            "offer_changes": _offer_changes(*of, codes={reason["code"] for reason in found["blocked_reasons"]}),
            "runs_before": before,
        }


def _moves(conn: Connection, tenant_id: str, run_id: UUID, *, entering: bool) -> Document:
    groups = shelf.select_move_groups(conn, tenant_id, run_id, entering=entering, limit=GROUPS)
    by = {
        f"by_{kind}": [{kind: row["name"], "count": row["count"]} for row in groups if row["kind"] == kind]
        for kind in ("brand", "category")
    }
    return {**by, "sample": shelf.select_moves(conn, tenant_id, run_id, entering=entering, limit=SAMPLE)}


def _offer_changes(conn: Connection, tenant_id: str, run_id: UUID, *, codes: Collection[str]) -> Document:
    """What would change about products that stay: counted, and a sample for each gate that held the run back."""
    counted = shelf.select_offer_change_counts(conn, tenant_id, run_id, edges=factors.EDGES)
    by = {"factors": breaker.FACTORS, "near": breaker.NEAR, "limit": SAMPLE}
    return {
        "factors": factors.distribution(counted["factor"]),
        "currencies": [{name: row[name] for name in ("was", "becomes", "count")} for row in counted["currency"]],
        "stock": {row["becomes"].replace(" ", "_"): row["count"] for row in counted["stock"]},
        **{
            f"{gate}_sample": shelf.select_offer_changes(conn, tenant_id, run_id, gate=gate, **by)
            for code, gate in _SAMPLED.items()
            if code in codes
        },
    }


def errors(run_id: str | UUID) -> list[Document]:
    """Samples of the rows that a run rejected or found twice."""
    with engine.connect() as conn:
        found = find_run(conn, run_id)
        return [dict(row) for row in catalogue.select_run_errors(conn, found["tenant_id"], found["id"])]


def find_run(conn: Connection, run_id: str | UUID) -> Row:
    """The record of the run; refuses what is no run."""
    wanted = run_id_of(run_id)
    tenant_id = catalogue.select_tenant_of_run(conn, wanted)
    row = catalogue.select_run(conn, tenant_id, wanted) if tenant_id else None
    if row is None:
        raise _unknown_run(run_id)
    return row


def run_id_of(text: str | UUID) -> UUID:
    """The id that is written there; refuses what is none like any run that does not exist."""
    try:
        return UUID(str(text))
    except ValueError:
        raise _unknown_run(text) from None


def _unknown_run(run_id: str | UUID) -> BadRequestError:
    message = f"there is no run {str(run_id)!r}"
    return BadRequestError(message, code="RUN_NOT_FOUND", hint="see the runs with: feedmill runs")


def find_product(conn: Connection, key: str, identity: str) -> Row:
    """The one product that is meant; refuses none and several."""
    feed = find_feed(conn, key)
    prefix, colon, rest = identity.partition(":")
    kind = _PREFIXES.get(prefix) if colon else None
    value, tenant_id = rest if kind else identity, feed["tenant_id"]
    found = shelf.select_products_named(conn, tenant_id, key, value=value, identity_type=kind)
    if not found:
        message = f"{key} has no product {identity!r}"
        raise BadRequestError(message, code="UNKNOWN_PRODUCT", hint="name it as item:X, sku:X or url:HASH")
    if len(found) > 1:
        message = f"{identity!r} names {len(found)} products of {key}"
        raise BadRequestError(message, code="AMBIGUOUS_PRODUCT", hint="name it as item:X, sku:X or url:HASH")
    return found[0]
