"""What a file changes, against what is known of its products."""

from datetime import UTC, datetime, timedelta, timezone

import polars as pl
import pytest

from tasks.catalogue.diff import state_schema, with_changes
from tasks.catalogue.identity import TYPE

NOW = datetime(2026, 3, 2, 12, tzinfo=UTC)
TICK = timedelta(microseconds=1)
DAY = timedelta(hours=24)


PRICE = {"price": 99_900, "original_price": None, "currency": "USD", "in_stock": True}
COLUMNS = {"identity_type": TYPE, "identity_value": pl.String, "fingerprint": pl.Int64} | {
    name: state_schema()[f"last_{name}"] for name in PRICE
}


def known(product_id=7, *, kind="IMPACT_ITEM_ID", value="i-1", fingerprint=1, priced_at=NOW, **price):
    """A product of the state; without a price if it was never priced."""
    said = {**PRICE, **price} if priced_at else dict.fromkeys(PRICE)
    last = {f"last_{name}": value for name, value in said.items()}
    facts = {"product_id": product_id, "identity_type": kind, "identity_value": value, "known_fingerprint": fingerprint}
    return {**facts, **last, "last_priced_at": priced_at}


def products(*values, fingerprint=1, **price):
    rows = [
        {"identity_type": "IMPACT_ITEM_ID", "identity_value": value, "fingerprint": fingerprint, **PRICE, **price}
        for value in values
    ]
    return pl.DataFrame(rows, schema=COLUMNS)


def change(*state, now=NOW, heartbeat_hours=24, **row):
    """What one row changes: product, whether its attributes changed, why its price is written."""
    before = pl.DataFrame(list(state), schema=state_schema())
    [made] = with_changes(products("i-1", **row), before, now=now, heartbeat_hours=heartbeat_hours).to_dicts()
    return made["product_id"], made["is_changed"], made["price_reason"]


@pytest.mark.spec("002 4.2")
def test_product_without_a_price_gets_one():
    assert change() == (None, False, "new")
    assert change(known(priced_at=None)) == (7, False, "new")


@pytest.mark.spec("002 4.2")
@pytest.mark.parametrize(
    "before, after",
    [
        pytest.param({}, {"price": 99_901}, id="the amount, by the smallest part"),
        pytest.param({}, {"original_price": 99_900}, id="an original price appears"),
        pytest.param({"original_price": 99_900}, {}, id="an original price goes"),
        pytest.param({"original_price": 1}, {"original_price": 2}, id="an original price changes"),
        pytest.param({}, {"currency": "EUR"}, id="the currency"),
        pytest.param({}, {"in_stock": False}, id="sold out"),
        pytest.param({"in_stock": False}, {}, id="back in stock"),
        pytest.param({"price": 2**53}, {"price": 2**53 + 1}, id="amounts that a float could not tell apart"),
    ],
)
def test_another_price_than_the_last_is_written_whatever_its_age(before, after):
    for age in (timedelta(0), DAY - TICK, DAY, 10 * DAY):
        assert change(known(priced_at=NOW - age, **before), **after) == (7, False, "changed")


@pytest.mark.spec("002 4.2")
@pytest.mark.parametrize(
    "age, reason",
    [
        pytest.param(timedelta(0), None, id="just written"),
        pytest.param(DAY - TICK, None, id="just before the heartbeat"),
        pytest.param(DAY, "heartbeat", id="at the heartbeat"),
        pytest.param(DAY + TICK, "heartbeat", id="just after the heartbeat"),
        pytest.param(-DAY, None, id="written in the future"),
    ],
)
def test_same_price_waits_for_the_heartbeat(age, reason):
    assert change(known(priced_at=NOW - age)) == (7, False, reason)


@pytest.mark.spec("002 4.2")
@pytest.mark.parametrize("hours, reason", [(0, None), (1, "heartbeat"), (8760, None)], ids=["never", "hour", "year"])
def test_heartbeat_is_the_feeds_own(hours, reason):
    assert change(known(priced_at=NOW - 100 * DAY), heartbeat_hours=hours)[2] == reason


def test_heartbeat_does_not_depend_on_the_zone_of_the_clock():
    elsewhere = NOW.astimezone(timezone(timedelta(hours=-8)))
    assert change(known(priced_at=NOW - DAY), now=elsewhere)[2] == "heartbeat"
    assert change(known(priced_at=NOW - DAY + TICK), now=elsewhere)[2] is None


def test_attributes_that_changed_are_told_whatever_the_price_does():
    assert change(known(), fingerprint=2) == (7, True, None)
    assert change(known(), fingerprint=2, price=1) == (7, True, "changed")


def test_fingerprint_of_another_version_counts_as_a_change():
    """Which the state gives as null."""
    assert change(known(fingerprint=None)) == (7, True, None)


def test_products_are_told_apart_by_the_kind_of_their_identity():
    sku = known(8, kind="SKU")
    assert change(sku) == (None, False, "new")
    assert change(sku, known()) == (7, False, None)


def test_rows_keep_their_order_and_none_is_lost_or_doubled():
    state = pl.DataFrame([known(1), known(2, value="i-2"), known(9, value="i-9")], schema=state_schema())
    made = with_changes(products("i-3", "i-1", "i-2"), state, now=NOW, heartbeat_hours=24)
    assert made.select("identity_value", "product_id").rows() == [("i-3", None), ("i-1", 1), ("i-2", 2)]
