"""What a file changes, against what is known of its products."""

from datetime import UTC, datetime, timedelta, timezone

import polars as pl
import pytest

from tasks.catalogue.diff import STATE, with_changes
from tasks.catalogue.fingerprints import FINGERPRINT_VERSION

NOW = datetime(2026, 3, 2, 12, tzinfo=UTC)
TICK = timedelta(microseconds=1)
DAY = timedelta(hours=24)


def known(product_id=7, *, value="i-1", fingerprint=1, version=FINGERPRINT_VERSION, signature="s", priced_at=NOW):
    return (product_id, "IMPACT_ITEM_ID", value, fingerprint, version, signature, priced_at)


def change(*state, value="i-1", fingerprint=1, signature="s", now=NOW, heartbeat_hours=24):
    """What one row changes: product, whether its attributes changed, why its price is written."""
    columns = {"identity_type": "IMPACT_ITEM_ID", "identity_value": value}
    rows = pl.DataFrame([{**columns, "fingerprint": fingerprint, "signature": signature}])
    before = pl.DataFrame(state, schema=STATE, orient="row")
    [made] = with_changes(rows, before, now=now, heartbeat_hours=heartbeat_hours).to_dicts()
    return made["product_id"], made["is_changed"], made["price_reason"]


@pytest.mark.spec("002 4.2")
def test_product_without_a_price_gets_one():
    assert change() == (None, False, "new")
    assert change(known(signature=None, priced_at=None)) == (7, False, "new")


@pytest.mark.spec("002 4.2")
def test_changed_signature_writes_a_price_whatever_its_age():
    for age in (timedelta(0), DAY - TICK, DAY, 10 * DAY):
        assert change(known(priced_at=NOW - age), signature="t") == (7, False, "changed")


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
def test_same_signature_waits_for_the_heartbeat(age, reason):
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
    assert change(known(), fingerprint=2, signature="t") == (7, True, "changed")


def test_fingerprint_of_another_version_counts_as_a_change():
    assert change(known(version=FINGERPRINT_VERSION + 1)) == (7, True, None)


def test_products_are_told_apart_by_the_kind_of_their_identity():
    sku = (8, "SKU", "i-1", 1, FINGERPRINT_VERSION, "s", NOW)
    assert change(sku) == (None, False, "new")
    assert change(sku, known()) == (7, False, None)


def test_rows_keep_their_order_and_none_is_lost_or_doubled():
    values = [f"i-{number}" for number in (3, 1, 2)]
    rows = pl.DataFrame(
        {"identity_type": "IMPACT_ITEM_ID", "identity_value": values, "fingerprint": 1, "signature": "s"}
    )
    state = pl.DataFrame([known(1, value="i-1"), known(2, value="i-2"), known(9, value="i-9")], STATE, orient="row")
    made = with_changes(rows, state, now=NOW, heartbeat_hours=24)
    assert made.select("identity_value", "product_id").rows() == [("i-3", None), ("i-1", 1), ("i-2", 2)]
