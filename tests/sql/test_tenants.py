"""No reading function reaches another tenant's rows."""

import inspect
from decimal import Decimal

import pytest

from db import catalogue, feeds, ledger, offers
from db.ids import new_id
from tests.builders import NOON, feed, insert, run

# Who an operator asks whose a key or a run is; they answer with a tenant and nothing else.
WHOSE = {"select_tenant_of", "select_tenant_of_run", "select_tenant"}


@pytest.fixture
def theirs(conn):
    """Everything that another tenant may have, on the shelf for all of its own to see."""
    insert(conn, "tenants", id="acme", name="Acme")
    made = feed(conn, tenant_id="acme", key="theirs", status="ENABLED", source={"is_display_primary": True})
    source_id = made["source_id"]
    ran = run(conn, made, status="completed", started_at=NOON, finished_at=NOON)
    insert(conn, "affiliate_feed_run_errors", run_id=ran["id"])
    product = insert(conn, "source_products", source_id=source_id, identity_value="tent")
    insert(conn, "prices", source_product_id=product["id"], affiliate_feed_run_id=new_id())
    insert(conn, "promotions", source_id=source_id, seq=1, run_id=ran["id"])
    insert(conn, "shelf_spans", source_id=source_id, product_id=product["id"])
    insert(conn, "setting_log", source_id=source_id)
    ids = _waiting(conn, made, on_shelf=product["id"])
    return {"run_id": ran["id"], "source_id": source_id, "product_id": product["id"], **ids}


def _waiting(conn, made, *, on_shelf):
    """A blocked run that saw a product sold out and at another price, and a new one; and a later run."""
    source_id = made["source_id"]
    ended = {"status": "completed", "started_at": NOON, "finished_at": NOON}
    blocked, newer = (run(conn, made, **ended, figures={"obs_seq": number}) for number in (2, 3))
    left, entered = (insert(conn, "source_products", source_id=source_id)["id"] for _ in range(2))
    insert(conn, "shelf_spans", source_id=source_id, product_id=left)
    now = {"price_amount": "1.00", "in_stock": False, "reason": "changed", "affiliate_feed_run_id": blocked["id"]}
    insert(conn, "prices", source_product_id=on_shelf, obs_seq=2, **now)
    insert(conn, "sightings", source_id=source_id, obs_seq=2, run_id=blocked["id"], product_ids=[on_shelf, entered])
    return {"blocked_id": blocked["id"], "newer_id": newer["id"]}


READS = {
    "select_feed": lambda conn, tenant, _: feeds.select_feed(conn, tenant, "theirs"),
    "select_feeds": lambda conn, tenant, _: feeds.select_feeds(conn, tenant),
    "select_run": lambda conn, tenant, of: catalogue.select_run(conn, tenant, of["run_id"]),
    "select_runs": lambda conn, tenant, _: catalogue.select_runs(conn, tenant, "theirs", limit=None),
    "select_run_errors": lambda conn, tenant, of: catalogue.select_run_errors(conn, tenant, of["run_id"]),
    "select_offers": lambda conn, tenant, _: offers.select_offers(conn, tenant, "theirs", at=NOON, after=0, limit=None),
    "select_prices": lambda conn, tenant, of: offers.select_prices(conn, tenant, of["product_id"]),
    "select_newer_run": lambda conn, tenant, of: offers.select_newer_run(conn, tenant, of["blocked_id"]),
    "select_sighted": lambda conn, tenant, of: offers.select_sighted(conn, tenant, of["blocked_id"]),
    "select_moves": lambda conn, tenant, of: offers.select_moves(
        conn, tenant, of["blocked_id"], entering=True, limit=1
    ),
    "select_move_groups": lambda conn, tenant, of: offers.select_move_groups(
        conn, tenant, of["blocked_id"], entering=False, limit=1
    ),
    "select_price_moves": lambda conn, tenant, of: offers.select_price_moves(conn, tenant, of["blocked_id"], limit=1),
    "select_offer_changes": lambda conn, tenant, of: offers.select_offer_changes(
        conn, tenant, of["blocked_id"], gate="stock", factors=["10"], near="0.1", limit=1
    ),
    "select_offer_change_counts": lambda conn, tenant, of: [
        found
        for rows in offers.select_offer_change_counts(conn, tenant, of["blocked_id"], edges=[Decimal(1)]).values()
        for found in rows
    ],
    "select_runs_before": lambda conn, tenant, of: offers.select_runs_before(conn, tenant, of["newer_id"], limit=1),
    "select_products": lambda conn, tenant, of: offers.select_products(conn, tenant, [of["product_id"]]),
    "select_shelf_diff": lambda conn, tenant, of: offers.select_shelf_diff(
        conn, tenant, of["source_id"], before=0, after=1
    ),
    "select_products_named": lambda conn, tenant, _: offers.select_products_named(
        conn, tenant, "theirs", value="tent", identity_type=None
    ),
}


@pytest.mark.parametrize("name", READS)
def test_a_tenant_reads_its_own_rows_and_no_other_tenant_does(conn, theirs, name):
    assert READS[name](conn, "acme", theirs)
    assert not READS[name](conn, "default", theirs)


def test_every_reading_function_takes_the_tenant_and_is_tried_here():
    reading = {
        name: function
        for module in (feeds, catalogue, offers, ledger)
        for name, function in inspect.getmembers(module, inspect.isfunction)
        if name.startswith("select_") and name not in WHOSE
    }
    assert set(reading) == set(READS)
    assert [
        name for name, function in reading.items() if "tenant_id" not in inspect.signature(function).parameters
    ] == []
