"""The database itself refuses to change a price, and holds one per product, run and signature."""

import psycopg
import pytest

from db.ids import new_id
from tests.builders import feed, insert

pytestmark = pytest.mark.spec("002 2.6")


@pytest.fixture
def price(any_conn):
    product = insert(any_conn, "source_products", source_id=feed(any_conn)["source_id"])
    return insert(any_conn, "prices", source_product_id=product["id"], affiliate_feed_run_id=new_id())


@pytest.mark.parametrize("table", ["prices", "audit_events", "promotions", "setting_log"])
@pytest.mark.parametrize(
    "statement",
    [
        pytest.param("UPDATE {} SET {} = {}", id="update"),
        pytest.param("UPDATE {} SET {} = {} WHERE false", id="update of no row"),
        pytest.param("DELETE FROM {}", id="delete"),
        pytest.param("TRUNCATE {}", id="truncate"),
        pytest.param("TRUNCATE {} CASCADE", id="truncate with cascade"),
    ],
)
def test_append_only_tables_refuse_every_change(any_conn, price, table, statement):
    column = any_conn.execute(
        "SELECT attname FROM pg_attribute WHERE attrelid = %s::regclass AND attnum = 2", [table]
    ).fetchone()["attname"]
    with pytest.raises(psycopg.errors.RestrictViolation, match="append-only"):
        any_conn.execute(statement.format(table, column, column))


def test_prices_refuse_a_change_with_triggers_switched_to_replica(any_conn, price):
    any_conn.execute("SET session_replication_role = replica")
    with pytest.raises(psycopg.errors.RestrictViolation):
        any_conn.execute("UPDATE prices SET price_amount = 1")


@pytest.mark.parametrize("statement", ["DELETE FROM", "TRUNCATE"])
@pytest.mark.parametrize("parent", ["source_products", "sources"])
def test_what_prices_belong_to_is_kept(any_conn, price, parent, statement):
    """They have no foreign key, so nothing else would keep it."""
    with pytest.raises(psycopg.errors.RestrictViolation, match=f"{parent} is append-only"):
        any_conn.execute(f"{statement} {parent}" + (" CASCADE" if statement == "TRUNCATE" else ""))


@pytest.mark.spec("002 18.1.1")
def test_prices_have_one_unique_index_beside_the_primary_key(any_conn):
    rows = any_conn.execute(
        "SELECT indexrelid::regclass::text AS name FROM pg_index WHERE indrelid = 'prices'::regclass"
        " AND indisunique ORDER BY 1"
    )  # fmt: skip - one statement
    assert [row["name"] for row in rows] == ["prices_affiliate_dedupe", "prices_pkey"]
    constraints = any_conn.execute(
        "SELECT conname FROM pg_constraint WHERE conrelid = 'prices'::regclass AND contype = 'u'"
    )
    assert constraints.fetchall() == []


def test_dedupe_is_named_in_the_conflict_clause(any_conn, price):
    again = any_conn.execute(
        "INSERT INTO prices (source_product_id, obs_seq, price_amount, currency, in_stock, reason,"
        " affiliate_feed_run_id, price_signature_hash, created_at)"
        " SELECT source_product_id, obs_seq + 1, price_amount, currency, in_stock,"
        " 'heartbeat', affiliate_feed_run_id, price_signature_hash, created_at FROM prices"
        " ON CONFLICT (source_product_id, affiliate_feed_run_id, price_signature_hash)"
        " WHERE affiliate_feed_run_id IS NOT NULL DO NOTHING"
    )
    assert again.rowcount == 0


def test_the_same_signature_of_another_run_is_a_price_of_its_own(any_conn, price):
    same = {name: price[name] for name in ("source_product_id", "price_signature_hash")}
    insert(any_conn, "prices", **same, affiliate_feed_run_id=new_id())
    assert any_conn.execute("SELECT count(*) AS n FROM prices").fetchone()["n"] == 2


@pytest.mark.parametrize(
    "wrong",
    [
        pytest.param({"price_amount": "-0.01"}, id="negative amount"),
        pytest.param({"price_amount": "NaN"}, id="not a number"),
        pytest.param({"price_amount": "1.00001"}, id="five decimals"),
        pytest.param({"price_amount": "10000000000"}, id="ten thousand million"),
        pytest.param({"original_price": "-1"}, id="negative original price"),
        pytest.param({"currency": "usd"}, id="currency in lower case"),
        pytest.param({"reason": "guess"}, id="unknown reason"),
        pytest.param({"price_signature_hash": "short"}, id="short signature"),
    ],
)
def test_prices_refuse_a_bad_value(any_conn, price, wrong):
    with pytest.raises(psycopg.errors.CheckViolation):
        insert(any_conn, "prices", source_product_id=price["source_product_id"], **wrong)
