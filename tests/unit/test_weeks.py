"""Ordinary weeks: the same for a seed, lively, within what a shop does; and every special day is what it says."""

from itertools import pairwise

import pytest

from feedmill.simulator import weeks
from feedmill.simulator.catalogue import dice, make_catalogue
from feedmill.simulator.days import compare
from feedmill.simulator.weeks import WEEK, make_shop, ordinary_weeks

SHOP = next(shop for shop in map(make_shop, range(1, 100)) if 200 <= shop.size <= 400)
WEEKS = 12


@pytest.fixture(scope="module")
def days():
    return list(ordinary_weeks(SHOP, WEEKS))


def test_weeks_are_the_same_for_a_seed_and_other_for_another(days):
    assert list(ordinary_weeks(SHOP, WEEKS)) == days
    assert make_shop(1) != make_shop(2)


def test_weeks_have_a_catalogue_for_every_day(days):
    assert [catalogue.day for catalogue in days] == list(range(WEEKS * WEEK))


def test_shops_differ_in_size_by_orders_of_magnitude():
    sizes = [make_shop(seed).size for seed in range(1, 51)]
    assert min(sizes) < 100
    assert 10_000 < max(sizes) <= weeks.LARGEST


def test_weeks_keep_products_sane(days):
    for catalogue in days:
        numbers = [product.number for product in catalogue.products]
        assert len(set(numbers)) == len(numbers)
        assert all(0 < product.price_cents <= product.list_cents for product in catalogue.products)
    assert 0.5 < len(days[-1].products) / len(days[0].products) < 2


def test_something_moves_on_every_day_and_much_on_some(days):
    moved = [compare(before, after) for before, after in pairwise(days)]
    assert all(changes.offers_changed or changes.new or changes.gone for changes in moved)
    assert max(changes.prices_moved for changes in moved) > SHOP.size / 2
    assert max(changes.sold_out for changes in moved) > 3 * sum(changes.sold_out for changes in moved) / len(moved)


def played(event):
    before = make_catalogue(3, 2_000).products
    return before, event(make_shop(3), dice("test"), before)


@pytest.mark.parametrize(
    "event, field",
    [
        (weeks.big_sale, "price_cents"), (weeks.weekend_sale, "price_cents"), (weeks.clearance, "price_cents"),
        (weeks.price_rise, "list_cents"), (weeks.supplier_outage, "in_stock"), (weeks.delivery, "in_stock"),
        (weeks.end_of_sales, "price_cents"),
    ],
    ids=lambda value: getattr(value, "__name__", value),
)  # fmt: skip
def test_special_day_changes_what_it_says(event, field):
    before, after = played(event)
    assert [product.number for product in after] == [product.number for product in before]
    assert sum(getattr(old, field) != getattr(new, field) for old, new in zip(before, after, strict=True)) > 20


def test_big_sale_lowers_prices_and_nearly_gives_some_away():
    before, after = played(weeks.big_sale)
    factors = [new.price_cents / old.list_cents for old, new in zip(before, after, strict=True)]
    assert max(factors) <= 1
    assert 5 < sum(factor <= 0.1 for factor in factors) < 60


def test_season_change_takes_at_most_a_fifth():
    before, after = played(weeks.season_change)
    assert 0.8 * len(before) <= len(after) < len(before)
