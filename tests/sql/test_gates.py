"""The gates on prices, currencies and stock in phase two: what is counted, what blocks, and the evidence."""

from io import StringIO

import pytest
from rich.console import Console

import feedmill as api
from db.clock import Clock
from feedmill import evidence_views
from tasks.catalogue import approval, breaker, registry
from tests.mill import after, row
from tests.plain import PlainMill

SIZE = 40
EVERY = range(1, SIZE + 1)


@pytest.fixture
def drawer(conn, tmp_path, monkeypatch):
    monkeypatch.setenv("FEEDMILL_TEST_CLOCK", "1")
    return PlainMill(conn, tmp_path / "catalog.csv")


@pytest.fixture
def mill(drawer):
    return first_file(drawer.put_on_file())


def first_file(mill):
    mill.deliver(*map(row, EVERY))
    mill.run(at=after(1))
    return mill


def deliver(mill, changed, *, others=EVERY, **cells):
    """The same products; the cells of those that are named are made by a function of their number, or given."""
    made = {name: cell if callable(cell) else lambda _number, cell=cell: cell for name, cell in cells.items()}
    chosen = set(changed)
    mill.deliver(*(row(n, **({name: cell(n) for name, cell in made.items()} if n in chosen else {})) for n in others))


def times_100(number):
    return f"{number}000.00"


def codes(record):
    return [reason["code"] for reason in record["blocked_reasons"]]


def by(name, hours):
    return registry.Actor(name, Clock(after(hours)))


FAULTS = {
    "PRICE_FACTOR_SPIKE": {"price": times_100},
    "CURRENCY_SPIKE": {"currency": "EUR"},
    "OUT_OF_STOCK_SPIKE": {"stock": "N"},
}
each_fault = pytest.mark.parametrize("code, cells", FAULTS.items(), ids=FAULTS)


@each_fault
def test_fault_in_every_row_is_held_back_and_shows_nothing(mill, code, cells):
    shown = mill.offers(after(2))
    deliver(mill, EVERY, **cells)
    record = mill.run(at=after(2))
    assert (record["expiry_blocked_reason"], codes(record), record["promotion_seq"]) == (code, [code], None)
    assert mill.offers(after(2)) == shown
    [event] = mill.events("CIRCUIT_BREAKER_TRIPPED")
    assert (event["fields"]["reason"], event["fields"]["would_expire_count"]) == (code, 0)


@each_fault
def test_fault_in_the_next_file_too_is_held_back_again(mill, code, cells):
    """Its prices are in the history already, so the second file writes none; shown they would be all the same."""
    deliver(mill, EVERY, **cells)
    mill.run(at=after(2))
    deliver(mill, EVERY, **cells, name=lambda number: f"Renamed {number}")
    record = mill.run(at=after(3))
    assert (record["prices_written"], codes(record)) == (0, [code])


@each_fault
def test_fault_of_a_run_that_failed_half_way_is_held_back(mill, code, cells):
    deliver(mill, EVERY, **cells)
    with pytest.raises(RuntimeError), mill.loaded(at=after(2)):
        raise RuntimeError
    record = mill.run(at=after(3))
    assert (record["prices_written"], codes(record)) == (0, [code])


@each_fault
def test_good_file_after_a_fault_passes(mill, code, cells):
    deliver(mill, EVERY, **cells)
    mill.run(at=after(2))
    mill.deliver(*map(row, EVERY))
    record = mill.run(at=after(3))
    assert (record["prices_written"], record["promotion_seq"]) == (SIZE, 2)


@each_fault
def test_approved_change_is_what_the_next_file_is_compared_with(mill, code, cells):
    deliver(mill, EVERY, **cells)
    blocked = mill.run(at=after(2))
    assert approval.approve(blocked["id"], by("ann", 3)).products_promoted == SIZE
    deliver(mill, EVERY, **cells, name="Renamed")
    assert mill.run(at=after(4))["promotion_seq"] == 3


@each_fault
def test_gate_that_is_off_lets_it_pass(drawer, code, cells):
    gate = {"PRICE_FACTOR_SPIKE": "price_factor", "CURRENCY_SPIKE": "currency", "OUT_OF_STOCK_SPIKE": "stock"}[code]
    mill = first_file(drawer.put_on_file(gates={gate: False}))
    deliver(mill, EVERY, **cells)
    assert mill.run(at=after(2))["promotion_seq"] == 2


@each_fault
def test_first_file_has_nothing_to_compare_with(drawer, code, cells):
    mill = drawer.put_on_file()
    deliver(mill, EVERY, **cells)
    assert mill.run(at=after(1))["promotion_seq"] == 1


def test_every_reason_is_recorded_in_the_order_of_the_gates(mill):
    """Ten are gone, of the rest ten cost a hundred times as much, ten are in euros, and none is in stock."""
    cells = {n: {"price": times_100(n)} if n <= 10 else {"currency": "EUR"} if n <= 20 else {} for n in EVERY}
    mill.deliver(*(row(n, stock="N", **cells[n]) for n in range(1, 26)))
    record = mill.run(at=after(2))
    assert codes(record) == ["SPIKE_THRESHOLD_EXCEEDED", *FAULTS]
    assert record["expiry_blocked_reason"] == "SPIKE_THRESHOLD_EXCEEDED"
    _, factor, currency, stock = record["blocked_reasons"]
    assert (factor["moved_count"], factor["compared_count"], factor["by_factor"]) == (10, 15, {"100": 10})
    assert (currency["changed_count"], currency["compared_count"]) == (10, 25)
    assert (stock["sold_out_count"], stock["in_stock_before_count"]) == (25, 25)


def test_products_that_left_the_file_are_not_counted(mill):
    """A blocked run priced them wrongly; the next one lacks them, and the rest is right."""
    deliver(mill, range(1, 12), price=times_100)
    assert mill.run(at=after(2))["expiry_blocked"]
    mill.deliver(*(row(n) for n in range(12, SIZE + 1)))
    record = mill.run(at=after(3))
    assert (record["products_vanished"], record["promotion_seq"]) == (11, 2)


def test_stock_is_a_share_of_what_was_in_stock(mill):
    """Of forty products twenty are out; of the other twenty 17 sell out, five come back, two new ones are there."""
    deliver(mill, range(1, 21), stock="N")
    assert mill.run(at=after(2))["promotion_seq"] == 2
    deliver(mill, range(6, 38), others=[*EVERY, 98, 99], stock="N")
    record = mill.run(at=after(3))
    [reason] = record["blocked_reasons"]
    figures = ("code", "sold_out_count", "in_stock_before_count", "threshold_percent")
    assert mill.counts(reason, *figures) == ("OUT_OF_STOCK_SPIKE", 17, 20, 0.8)


def test_product_that_returns_is_not_counted_as_sold_out(mill):
    mill.deliver(*(row(n) for n in range(1, 31)))
    mill.run(at=after(2))
    deliver(mill, range(1, 26), stock="N")
    [reason] = mill.run(at=after(3))["blocked_reasons"]
    assert (reason["sold_out_count"], reason["in_stock_before_count"]) == (25, 30)


# What becomes of a price of 10.00, and the factor that this is near.
MOVES = {
    "900.00": "100", "899.99": None, "1099.99": "100", "1100.00": None, "10000.00": "1000", "90.00": "10",
    "110.00": None, "1.00": "0.1", "0.89": None, "0.09": "0.01", "0.0100": "0.001", "20.00": None, "3.00": None,
}  # fmt: skip


def test_factor_is_near_a_power_of_ten(drawer):
    """Two products for each price; the borders belong to the band above them."""
    mill = drawer.put_on_file()
    numbers = range(1, 2 * len(MOVES) + 1)
    mill.deliver(*(row(n, price="10.00") for n in numbers))
    mill.run(at=after(1))
    mill.deliver(*(row(n, price=price) for n, price in zip(numbers, [*MOVES, *MOVES], strict=True)))
    [reason] = mill.run(at=after(2))["blocked_reasons"]
    expected = {factor: 2 * list(MOVES.values()).count(factor) for factor in breaker.FACTORS}
    assert reason["by_factor"] == expected


def test_evidence_shows_what_each_gate_saw(mill):
    cells = {n: {"price": times_100(n)} if n <= 12 else {"currency": "EUR"} if n <= 23 else {} for n in EVERY}
    mill.deliver(*(row(n, stock="N", **cells[n]) for n in EVERY if n != 40), row(40, price="390.00"))
    record = mill.run(at=after(2))
    evidence = api.evidence(record["id"])
    assert [reason["code"] for reason in evidence["blocked_reasons"]] == list(FAULTS)
    changes = evidence["offer_changes"]
    assert changes["factors"] == [{"factor": "x 0.5 to 1", "count": 1}, {"factor": "near x 100", "count": 12}]
    assert changes["currencies"] == [{"was": "USD", "becomes": "EUR", "count": 11}]
    assert changes["stock"] == {"sold_out": 39}
    priced, moneyed, stocked = (changes[f"{gate}_sample"] for gate in ("price_factor", "currency", "stock"))
    assert len(priced) == len(moneyed) == len(stocked) == 10
    assert {found["price_after"] / found["price_before"] for found in priced} == {100}
    assert {(found["currency_before"], found["currency_after"]) for found in moneyed} == {("USD", "EUR")}
    assert {(found["in_stock_before"], found["in_stock_after"]) for found in stocked} == {(True, False)}


def test_evidence_leaves_out_what_the_run_did_not_see(mill):
    deliver(mill, range(1, 12), price=times_100)
    mill.run(at=after(2))
    deliver(mill, range(12, SIZE + 1), others=range(11, SIZE + 1), stock="N")
    changes = api.evidence(mill.run(at=after(3))["id"])["offer_changes"]
    assert (changes["factors"], changes["stock"]) == ([], {"sold_out": 29})
    assert {found["identity_value"] for found in changes["stock_sample"]} <= {f"item-{n}" for n in range(12, SIZE + 1)}
    assert "price_factor_sample" not in changes


def test_evidence_keeps_its_figures_after_the_decision(mill):
    deliver(mill, EVERY, price=times_100)
    record = mill.run(at=after(2))
    approval.approve(record["id"], by("ann", 3))
    evidence = api.evidence(record["id"])
    assert evidence["blocked_reasons"][0]["by_factor"] == {"100": SIZE}
    assert "offer_changes" not in evidence


def test_people_are_told_the_same(mill):
    cells = {n: {"price": times_100(n)} if n <= 12 else {"currency": "EUR"} if n <= 23 else {} for n in EVERY}
    mill.deliver(*(row(n, stock="N", **cells[n]) for n in EVERY))
    record = mill.run(at=after(2))
    paper = StringIO()
    Console(file=paper, width=150).print(evidence_views.evidence_report(api.evidence(record["id"])))
    said = paper.getvalue()
    for words in (
        "PRICE_FACTOR_SPIKE: 12 of 29 prices moved by a power of ten (12 near x 100), 41.4%; up to 10% may pass",
        "CURRENCY_SPIKE: 11 of 40 products changed currency, 27.5%; up to 10% may pass",
        "OUT_OF_STOCK_SPIKE: 40 of 40 products in stock sold out at once, 100.0%; up to 80% may pass",
        "near x 100        12  ████",
        "currencies: USD -> EUR 11",
        "stock: 40 sold out",
        "prices moved by a power of ten, a sample",
        "in another currency, a sample",
        "sold out, a sample",
        "yes -> no",
    ):
        assert words in said, words
