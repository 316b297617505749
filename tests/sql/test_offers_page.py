"""A page of offers costs what the page holds, not what the shelf holds: rows touched are counted, not time."""

import pytest

from db import offers
from db.sql import load_sql
from tests.builders import NOON, feed, insert

PRODUCTS = 4_000
PAGE = 20


@pytest.fixture
def stocked(conn):
    """A primary feed with many offers, and a source of another tenant whose products lie before and among them."""
    insert(conn, "tenants", id="acme", name="Acme")
    theirs, mine = feed(conn, tenant_id="acme", key="theirs"), feed(conn, key="mine")
    for source_id in (theirs["source_id"], mine["source_id"]):
        insert(conn, "setting_log", source_id=source_id)
        insert(conn, "promotions", source_id=source_id, seq=1)
        ids = {"source_id": source_id, "products": PRODUCTS}
        conn.execute(
            """INSERT INTO source_products (source_id, identity_type, identity_value, title, url, fingerprint,
                                            fingerprint_version, created_at, updated_at)
               SELECT %(source_id)s, 'SKU', n::text, 'Tent', 'https://shop.example', n, 1, now(), now()
                 FROM generate_series(1, %(products)s) n""",
            ids,
        )
        conn.execute(
            """INSERT INTO shelf_spans (source_id, product_id, from_seq)
               SELECT source_id, id, 1 FROM source_products WHERE source_id = %(source_id)s""",
            ids,
        )
    conn.execute(
        """INSERT INTO prices (source_product_id, obs_seq, price_amount, currency, in_stock, reason,
                               price_signature_hash, created_at)
           SELECT id, 1, 9.99, 'USD', true, 'new', md5(id::text), now() FROM source_products"""
    )
    conn.execute("ANALYZE")
    return mine


def touched(plan, relation):
    """Rows that a plan read from a relation, those that it threw away again included."""
    own = 0
    if plan.get("Relation Name") == relation:
        own = (plan["Actual Rows"] + plan.get("Rows Removed by Filter", 0)) * plan["Actual Loops"]
    return own + sum(touched(part, relation) for part in plan.get("Plans", ()))


def plan_of(conn, statement, params):
    [row] = conn.execute(f"EXPLAIN (ANALYZE, FORMAT JSON) {statement}", params).fetchall()
    return row["QUERY PLAN"][0]["Plan"]


@pytest.mark.spec("002 13.1")
def test_select_offers_walks_along_the_page_only(conn, stocked):
    [visible] = conn.execute(
        load_sql("shelf/select_visible_sources"), {"tenant_id": "default", "key": None, "at": NOON}
    ).fetchall()
    params = {f"{name}s": [visible[name]] for name in ("source_id", "newest_seq", "since")}
    plan = plan_of(conn, load_sql("shelf/select_offers"), {**params, "after": 0, "limit": PAGE})
    assert plan["Actual Rows"] == PAGE
    for relation in ("source_products", "shelf_spans", "prices"):
        assert touched(plan, relation) <= 2 * PAGE, relation


@pytest.mark.spec("002 13.1")
def test_the_view_of_a_moment_walks_along_the_page_only(conn, stocked):
    statement = """SELECT * FROM offers_at(%(at)s) WHERE source_product_id > %(after)s
                    ORDER BY source_product_id LIMIT %(limit)s"""
    plan = plan_of(conn, statement, {"at": NOON, "after": PRODUCTS, "limit": PAGE})
    assert plan["Actual Rows"] == PAGE
    for relation in ("source_products", "shelf_spans", "prices"):
        assert touched(plan, relation) <= 2 * PAGE, relation


def test_pages_of_all_feeds_are_one_list(conn, stocked):
    """The first of all sources by id, however the products of the sources lie among each other."""
    other = feed(conn, key="other")
    insert(conn, "setting_log", source_id=other["source_id"])
    insert(conn, "promotions", source_id=other["source_id"], seq=1)
    product = insert(conn, "source_products", source_id=other["source_id"])["id"]
    insert(conn, "shelf_spans", source_id=other["source_id"], product_id=product)
    insert(conn, "prices", source_product_id=product)
    seen, after = [], 0
    while page := offers.select_offers(conn, "default", None, at=NOON, after=after, limit=1_500):
        seen += [(offer["source_product_id"], offer["feed_key"]) for offer in page]
        after = page[-1]["source_product_id"]
    assert seen == [(PRODUCTS + number, "mine") for number in range(1, PRODUCTS + 1)] + [(product, "other")]
    assert len(offers.select_offers(conn, "default", None, at=NOON, after=0, limit=None)) == PRODUCTS + 1


def test_nothing_visible_is_an_empty_page(conn):
    assert offers.select_offers(conn, "default", None, at=None, after=0, limit=10) == []
