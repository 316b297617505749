"""The gates at, just below and just above their limits, and the limits of a feed."""

import pytest

from tasks.catalogue.breaker import (
    DEFAULTS,
    GATES,
    PARTS,
    Counts,
    Limits,
    OfferChanges,
    currency,
    judge,
    limits_of,
    price_factor,
    spike,
    stock,
    url_hash,
)


def counts(on_shelf=0, seen=0, products=100, url_hash_fallbacks=0, **changes):
    return Counts(on_shelf, seen, products, url_hash_fallbacks, OfferChanges(**changes))


@pytest.mark.spec("002 8.2", "002 8.8")
@pytest.mark.parametrize(
    "on_shelf, gone, blocked",
    [
        pytest.param(100, 30, False, id="exactly thirty percent passes"),
        pytest.param(100, 31, True, id="one product more blocks"),
        pytest.param(10, 3, False, id="thirty percent of few passes"),
        pytest.param(29, 9, False, id="a large share of nine products passes"),
        pytest.param(29, 10, True, id="of ten products it blocks"),
        pytest.param(33, 10, True, id="ten products, just over thirty percent"),
        pytest.param(34, 10, False, id="ten products, just under thirty percent"),
        pytest.param(9, 9, False, id="all nine of a small shelf may go"),
        pytest.param(10, 10, True, id="all ten may not"),
        pytest.param(100_000, 499, False, id="four hundred and ninety-nine of many pass"),
        pytest.param(100_000, 500, True, id="five hundred block whatever the share"),
        pytest.param(100_000, 501, True, id="and more do too"),
        pytest.param(100, 0, False, id="nothing goes"),
        pytest.param(0, 0, False, id="nothing was there: no spike is possible"),
    ],
)
def test_spike(on_shelf, gone, blocked):
    reason = spike(counts(on_shelf, on_shelf - gone), DEFAULTS["spike"])
    assert bool(reason) is blocked
    if reason:
        assert reason.code == "SPIKE_THRESHOLD_EXCEEDED"
        assert (reason.figures["would_expire_count"], reason.figures["active_count_before"]) == (gone, on_shelf)


@pytest.mark.spec("002 3.3.2")
@pytest.mark.parametrize(
    "products, fallbacks, blocked",
    [
        pytest.param(100, 50, False, id="exactly half passes"),
        pytest.param(100, 51, True, id="one product more blocks"),
        pytest.param(1, 1, True, id="a single product without identity blocks"),
        pytest.param(100_000, 1_000, False, id="a thousand of many pass"),
        pytest.param(100_000, 1_001, True, id="one more blocks whatever the share"),
        pytest.param(100, 0, False, id="none"),
        pytest.param(0, 0, False, id="no products at all"),
    ],
)
def test_url_hash(products, fallbacks, blocked):
    reason = url_hash(counts(products=products, url_hash_fallbacks=fallbacks), DEFAULTS["url_hash"])
    assert bool(reason) is blocked
    if reason:
        assert reason.code == "DATA_QUALITY_URL_HASH_SPIKE"
        assert reason.figures["url_hash_fallback_percent"] == fallbacks / products


@pytest.mark.parametrize(
    "seen, by_factor, currency_changed, blocked",
    [
        pytest.param(1_000, {"100": 100}, 0, False, id="exactly a tenth passes"),
        pytest.param(1_000, {"100": 101}, 0, True, id="one product more blocks"),
        pytest.param(1_000, {"10": 51, "0.01": 50}, 0, True, id="whatever the factors"),
        pytest.param(1_000, {"100": 95}, 100, True, id="another currency cannot be compared"),
        pytest.param(20, {"100": 9}, 0, False, id="half of few passes"),
        pytest.param(20, {"100": 10}, 0, True, id="ten count"),
        pytest.param(10, {"0.001": 10}, 0, True, id="all of ten"),
        pytest.param(100, {}, 100, False, id="none can be compared"),
        pytest.param(0, {}, 0, False, id="an empty shelf"),
    ],
)
def test_price_factor(seen, by_factor, currency_changed, blocked):
    found = counts(seen, seen, by_factor=by_factor, currency_changed=currency_changed)
    reason = price_factor(found, DEFAULTS["price_factor"])
    assert bool(reason) is blocked
    if reason:
        assert reason.code == "PRICE_FACTOR_SPIKE"
        assert (reason.figures["by_factor"], reason.figures["moved_count"]) == (by_factor, sum(by_factor.values()))
        assert reason.figures["compared_count"] == seen - currency_changed


@pytest.mark.parametrize(
    "seen, changed, blocked",
    [
        pytest.param(1_000, 100, False, id="exactly a tenth passes"),
        pytest.param(1_000, 101, True, id="one product more blocks"),
        pytest.param(9, 9, False, id="all of nine pass"),
        pytest.param(10, 10, True, id="all of ten do not"),
        pytest.param(0, 0, False, id="an empty shelf"),
    ],
)
def test_currency(seen, changed, blocked):
    reason = currency(counts(seen, seen, currency_changed=changed), DEFAULTS["currency"])
    assert bool(reason) is blocked
    if reason:
        assert (reason.code, reason.figures["changed_percent"]) == ("CURRENCY_SPIKE", changed / seen)


@pytest.mark.parametrize(
    "before, sold_out, blocked",
    [
        pytest.param(1_000, 800, False, id="exactly eight tenths pass"),
        pytest.param(1_000, 801, True, id="one product more blocks"),
        pytest.param(9, 9, False, id="all of nine pass"),
        pytest.param(10, 10, True, id="all of ten do not"),
        pytest.param(0, 0, False, id="nothing was in stock"),
    ],
)
def test_stock(before, sold_out, blocked):
    reason = stock(counts(5_000, 5_000, in_stock_before=before, sold_out=sold_out), DEFAULTS["stock"])
    assert bool(reason) is blocked
    if reason:
        assert (reason.code, reason.figures["in_stock_before_count"]) == ("OUT_OF_STOCK_SPIKE", before)


@pytest.mark.spec("002 8.2")
def test_counts_clamp_what_cannot_be_and_tell_it():
    odd = counts(on_shelf=5, seen=7)
    assert (odd.raw_would_expire, odd.would_expire, odd.share) == (-2, 0, 0.0)
    assert judge(odd, DEFAULTS) == ()


@pytest.mark.spec("002 8.2")
def test_share_of_an_empty_shelf_is_nothing():
    assert counts(on_shelf=0).share == 0


def test_judge_gives_every_reason_in_the_order_of_the_gates():
    changes = {"by_factor": {"100": 20}, "currency_changed": 20, "in_stock_before": 30, "sold_out": 30}
    bad = counts(on_shelf=100, seen=50, products=10, url_hash_fallbacks=10, **changes)
    backwards = dict(reversed(DEFAULTS.items()))
    codes = [reason.code for reason in judge(bad, backwards)]
    assert codes == [
        "SPIKE_THRESHOLD_EXCEEDED", "DATA_QUALITY_URL_HASH_SPIKE", "PRICE_FACTOR_SPIKE", "CURRENCY_SPIKE",
        "OUT_OF_STOCK_SPIKE",
    ]  # fmt: skip


@pytest.mark.spec("002 3.3.2")
def test_judge_of_a_first_file_looks_at_identities_only():
    bad = counts(on_shelf=0, seen=0, products=10, url_hash_fallbacks=10)
    assert [reason.code for reason in judge(bad, limits_of({}))] == ["DATA_QUALITY_URL_HASH_SPIKE"]


def test_judge_of_an_empty_shelf_has_no_spike_whatever_the_limits():
    assert judge(counts(), {"spike": Limits(0.0, least=0, most=1)}) == ()


def without(gate):
    return {name: limits for name, limits in DEFAULTS.items() if name != gate}


@pytest.mark.parametrize(
    "gates, expected",
    [
        pytest.param({}, DEFAULTS, id="the defaults"),
        pytest.param({"spike": 0.5}, {**DEFAULTS, "spike": Limits(0.5, 10, 500)}, id="a bare share"),
        pytest.param({"spike": {"most": 9}}, {**DEFAULTS, "spike": Limits(0.3, 10, 9)}, id="one part"),
        pytest.param(
            {"spike": {"share": 0.5, "least": 20, "most": 1_000}},
            {**DEFAULTS, "spike": Limits(0.5, 20, 1_000)},
            id="every part",
        ),
        pytest.param({"spike": False}, without("spike"), id="one is off"),
        pytest.param(dict.fromkeys(GATES, False), {}, id="all are off"),
        pytest.param({"stock": 0.6}, {**DEFAULTS, "stock": Limits(0.6, 10)}, id="a bare share of another"),
    ],
)
def test_limits_of_a_feed(gates, expected):
    assert limits_of(gates) == expected


def test_every_gate_has_parts():
    assert tuple(PARTS) == GATES


def test_reason_as_a_document_has_its_code_and_figures():
    reason = spike(counts(100, 10), DEFAULTS["spike"])
    assert reason.document() == {
        "code": "SPIKE_THRESHOLD_EXCEEDED", "would_expire_count": 90, "active_count_before": 100,
        "expire_percent": 0.9, "threshold_percent": 0.3, "threshold_absolute": 500,
    }  # fmt: skip
