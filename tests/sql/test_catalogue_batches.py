"""What a batch writes and what the next run reads of it, on every Postgres there is."""

from datetime import UTC, timedelta
from decimal import Decimal

import polars as pl
import pytest

from db import catalogue
from db.catalogue import ATTRIBUTES, Observation
from db.ids import new_id
from tasks.catalogue import diff, money
from tasks.catalogue.fingerprints import FINGERPRINT_VERSION, with_signatures
from tasks.catalogue.identity import TYPE
from tests.builders import NOON, feed, run

NASTY = [
    "\\N", "\\.", "a\n\\.\nb", 'say "so"', "a,b", "a\r\nb", "\t", " ", "''", "\\", "NULL", "\u2028", "\U0001f97e",
    "é" * 300, "{1,2}", "%s", "0.10", "1e5", "-", '"', '""', "\x01", "a\\nb",
]  # fmt: skip


@pytest.fixture
def seen(any_conn):
    """An observation of a feed."""
    of_feed = feed(any_conn)
    any_conn.execute("DROP TABLE IF EXISTS staged_prices")
    catalogue.create_staged_prices(any_conn)
    return Observation(of_feed["source_id"], run(any_conn, of_feed, status="running", started_at=NOON)["id"], 1, NOON)


def products(values, **over):
    """Products that are new, each with its value in every text."""
    texts = {name: [over.get(name, value) for value in values] for name in ATTRIBUTES[:-2]}
    numbers = {"fingerprint": range(len(values)), "fingerprint_version": [FINGERPRINT_VERSION] * len(values)}
    facts = {"identity_type": ["SKU"] * len(values), "identity_value": values}
    schema = {"identity_type": TYPE, "identity_value": pl.String, **dict.fromkeys(ATTRIBUTES[:-2], pl.String)}
    return pl.DataFrame(
        {**facts, **texts, **numbers}, schema={**schema, "fingerprint": pl.Int64, "fingerprint_version": pl.Int16}
    )


def prices(ids, **over):
    said = {"price": "9.99", "original_price": None, "currency": "USD", "in_stock": True, "price_reason": "new", **over}
    frame = pl.DataFrame(
        [{"product_id": number, **said} for number in ids], schema_overrides={"original_price": pl.String}
    )
    return with_signatures(frame)


def state(conn, source_id, version=FINGERPRINT_VERSION):
    return catalogue.copy_state(conn, source_id, diff.state_schema(), fingerprint_version=version)


@pytest.mark.spec("002 2.3")
def test_products_come_back_as_they_went(any_conn, seen):
    ids = catalogue.copy_products(any_conn, seen, products(NASTY))
    stored = any_conn.execute("SELECT * FROM source_products ORDER BY id").fetchall()
    assert [row["id"] for row in stored] == ids.to_list()
    for name in ("identity_value", *ATTRIBUTES[:-2]):
        assert [row[name] for row in stored] == NASTY
    assert {(row["source_id"], row["created_by_run_id"], row["created_at"]) for row in stored} == {
        (seen.source_id, seen.run_id, NOON)
    }
    known = state(any_conn, seen.source_id)
    assert sorted(known["identity_value"]) == sorted(NASTY)
    assert known.sort("product_id")["known_fingerprint"].to_list() == list(range(len(NASTY)))


def test_products_may_lack_all_but_title_and_address(any_conn, seen):
    lacking = dict.fromkeys(set(ATTRIBUTES[:-2]) - {"title", "url", "normalized_url_hash"})
    catalogue.copy_products(any_conn, seen, products(["s-1"], **lacking))
    [row] = any_conn.execute("SELECT * FROM source_products").fetchall()
    assert {name: row[name] for name in lacking} == lacking


def test_no_products_take_no_ids(any_conn, seen):
    assert catalogue.copy_products(any_conn, seen, products([])).len() == 0


def test_changes_wait_beside_the_product(any_conn, seen):
    ids = catalogue.copy_products(any_conn, seen, products(["s-1", "s-2"]))
    changed = products(NASTY[:2]).with_columns(product_id=ids)
    assert catalogue.copy_product_changes(any_conn, seen, changed) == 2
    rows = any_conn.execute("SELECT product_id, title, obs_seq, run_id FROM product_changes ORDER BY product_id")
    assert [tuple(row.values()) for row in rows] == [
        (number, title, 1, seen.run_id) for number, title in zip(ids, NASTY[:2], strict=True)
    ]


@pytest.mark.spec("002 4.2.1")
@pytest.mark.spec("002 2.6")
def test_append_prices_is_replay_safe(any_conn, seen):
    """Once per product, run and signature; another signature or another run is another price."""
    ids = catalogue.copy_products(any_conn, seen, products(["s-1", "s-2"]))

    def append(observation, **over):
        with any_conn.transaction():
            any_conn.execute("TRUNCATE staged_prices")  # as a commit empties it
            return catalogue.append_prices(any_conn, observation, prices(ids, **over))

    assert [append(seen), append(seen)] == [2, 0]
    assert [append(seen, in_stock=False), append(seen, in_stock=False)] == [2, 0]
    other_run = Observation(seen.source_id, new_id(), 2, NOON)
    assert [append(other_run), append(other_run)] == [2, 0]
    assert any_conn.execute("SELECT count(*) AS n FROM prices").fetchone()["n"] == 6


def test_append_no_prices_appends_none(any_conn, seen):
    assert catalogue.append_prices(any_conn, seen, prices([1]).clear()) == 0


@pytest.mark.spec("002 4.2.1")
@pytest.mark.parametrize(
    "price, original",
    [("9.99", None), ("0.0001", "0.01"), ("9999999999.9999", "9999999999.9999"), ("1.2345", "1.50")],
)
def test_state_has_the_last_price_exactly(any_conn, seen, price, original):
    """In the very form that the next file is compared in, so that nothing changes by itself."""
    [number] = catalogue.copy_products(any_conn, seen, products(["s-1"]))
    later = Observation(seen.source_id, new_id(), 2, NOON + timedelta(hours=1, microseconds=1))
    with any_conn.transaction():
        catalogue.append_prices(any_conn, seen, prices([number], price="5.00"))
        any_conn.execute("TRUNCATE staged_prices")
        told = prices([number], price=price, original_price=original, currency="EUR", in_stock=False)
        catalogue.append_prices(any_conn, later, told)
    [known] = state(any_conn, seen.source_id).to_dicts()
    scaled = [None if text is None else int(Decimal(text) * money.SCALE) for text in (price, original)]
    assert [known["last_price"], known["last_original_price"]] == scaled
    assert (known["last_currency"], known["last_in_stock"]) == ("EUR", False)
    assert known["last_priced_at"] == later.observed_at.astimezone(UTC)


def test_state_gives_no_fingerprint_of_another_version(any_conn, seen):
    catalogue.copy_products(any_conn, seen, products(["s-1"]))
    assert state(any_conn, seen.source_id)["known_fingerprint"].to_list() == [0]
    assert state(any_conn, seen.source_id, FINGERPRINT_VERSION + 1)["known_fingerprint"].to_list() == [None]


def test_state_of_a_source_without_products_is_an_empty_frame(any_conn, seen):
    known = state(any_conn, seen.source_id)
    assert (known.height, known.schema) == (0, pl.Schema(diff.state_schema()))


def test_state_is_that_of_its_own_source(any_conn, seen):
    catalogue.copy_products(any_conn, seen, products(["s-1"]))
    assert state(any_conn, feed(any_conn)["source_id"]).height == 0


def test_sighting_lists_its_products_sorted(any_conn, seen):
    catalogue.insert_sighting(any_conn, seen, batch_no=1, product_ids=pl.Series([30, 2, 100], dtype=pl.Int64))
    assert any_conn.execute("SELECT product_ids FROM sightings").fetchone()["product_ids"] == [2, 30, 100]
