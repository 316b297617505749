"""Ordinary weeks of a simulated shop: every day a little moves, some days much, and it is nobody's fault.

A shop has a size and habits of its own. Its calendar has sales, clearances, a season that changes, price rises, a brand
that cannot deliver, new arrivals, and one big sale day with a few products at a tenth of their price.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from random import Random

from feedmill.simulator.assortment import BRANDS, LINES
from feedmill.simulator.catalogue import (
    DISCOUNTS,
    Catalogue,
    Product,
    dice,
    discounted,
    make_catalogue,
    pick,
    shop_price,
    shuffled,
)
from feedmill.simulator.days import next_day

WEEK = 7
SMALLEST, LARGEST = 40, 20_000
_DOORBUSTERS = 0.01  # of the products, at a tenth of their price on the big sale day

Change = Callable[[Random, Product], Product]


@dataclass(frozen=True, slots=True)
class Shop:
    """What one shop is like: shares of its products that move on a quiet day, and how wild its special days are."""

    seed: int
    size: int
    price_moves: float
    churn: float
    sold_out: float
    restocked: float
    wildness: float  # from 0, tame, to 1


def make_shop(seed: int) -> Shop:
    """A shop by its seed; most are small, some have hundreds of times as many products as others."""
    rng = dice("shop", seed)
    return Shop(
        seed=seed,
        size=int(SMALLEST * (LARGEST / SMALLEST) ** rng.random()),
        price_moves=0.01 + 0.10 * rng.random(),
        churn=0.002 + 0.018 * rng.random(),
        sold_out=0.005 + 0.03 * rng.random(),
        restocked=0.10 + 0.25 * rng.random(),
        wildness=rng.random(),
    )


def ordinary_weeks(shop: Shop, weeks: int) -> Iterator[Catalogue]:
    """The catalogue of every day, the first one included."""
    catalogue = make_catalogue(shop.seed, shop.size)
    yield catalogue
    calendar = _calendar(shop, weeks)
    for day in range(1, weeks * WEEK):
        catalogue = _quiet_day(shop, catalogue)
        for event in calendar.get(day, ()):
            rng = dice("event", shop.seed, day, event.__name__)
            catalogue = replace(catalogue, products=tuple(event(shop, rng, catalogue.products)))
        yield catalogue


def _quiet_day(shop: Shop, catalogue: Catalogue) -> Catalogue:
    """Mondays a lorry comes, Thursdays the arrivals of the week; otherwise shares vary by up to a half."""
    rng = dice("mood", shop.seed, catalogue.day)
    weekday = (catalogue.day + 1) % WEEK
    return next_day(
        catalogue,
        seed=shop.seed,
        price_moves=shop.price_moves * _mood(rng),
        new=shop.churn * _mood(rng) * (3 if weekday == 4 else 0.6),
        gone=shop.churn * _mood(rng),
        sold_out=shop.sold_out * _mood(rng),
        restocked=min(1, shop.restocked * (2.5 if weekday == 1 else 0.8)),
    )


def _mood(rng: Random) -> float:
    return 0.5 + rng.random()


Event = Callable[[Shop, Random, tuple[Product, ...]], list[Product]]


def _calendar(shop: Shop, weeks: int) -> dict[int, list[Event]]:
    """Which days are special; every kind of event once in twelve weeks or so, sales every other week."""
    rng = dice("calendar", shop.seed)
    calendar: dict[int, list[Event]] = {}

    def on(day: int, event: Event) -> None:
        calendar.setdefault(day, []).append(event)

    for start in range(0, weeks * WEEK, 12 * WEEK):
        big_day = start + int((0.3 + 0.6 * rng.random()) * 12 * WEEK)
        on(big_day, big_sale)
        on(big_day + 1, end_of_sales)
        for event in (season_change, clearance, price_rise, supplier_outage, delivery):
            on(start + 1 + int(rng.random() * (12 * WEEK - 1)), event)
        for week in range(start // WEEK, start // WEEK + 12, 2):
            on(week * WEEK + 5, weekend_sale)
    return calendar


def big_sale(shop: Shop, rng: Random, products: tuple[Product, ...]) -> list[Product]:
    """Most of the shop at once: a half to nine tenths of it discounted, a few nearly given away, much sold out."""
    share, gone = 0.5 + 0.4 * shop.wildness, 0.05 + 0.25 * shop.wildness

    def change(rng: Random, product: Product) -> Product:
        product = _discount(product, pick(rng, (20, 30, 40, 50, 60, 70))) if rng.random() < share else product
        product = _discount(product, 90) if rng.random() < _DOORBUSTERS else product
        return replace(product, in_stock=product.in_stock and rng.random() >= gone)

    return [change(rng, product) for product in products]


def end_of_sales(_shop: Shop, _rng: Random, products: tuple[Product, ...]) -> list[Product]:
    return [replace(product, price_cents=product.list_cents) for product in products]


def weekend_sale(shop: Shop, rng: Random, products: tuple[Product, ...]) -> list[Product]:
    """A third of the lines at one discount."""
    percent = pick(rng, DISCOUNTS)
    lines = set(shuffled(rng, (line.code for line in LINES))[: 4 + round(8 * shop.wildness)])
    return [_discount(p, percent) if p.model.line.code in lines and not p.on_sale else p for p in products]


def clearance(shop: Shop, rng: Random, products: tuple[Product, ...]) -> list[Product]:
    """Some lines at half their price and less, down to a fifth."""
    lines = set(shuffled(rng, (line.code for line in LINES))[: 2 + round(4 * shop.wildness)])
    return [_discount(p, pick(rng, (50, 60, 70, 80))) if p.model.line.code in lines else p for p in products]


def season_change(shop: Shop, rng: Random, products: tuple[Product, ...]) -> list[Product]:
    """Some lines leave the file in one day, at most a fifth of the shop."""
    lines = set(shuffled(rng, (line.code for line in LINES))[: 1 + round(3 * shop.wildness)])
    most = len(products) // 5
    leaving = {p.number for p in [p for p in products if p.model.line.code in lines][:most]}
    return [product for product in products if product.number not in leaving]


def price_rise(shop: Shop, rng: Random, products: tuple[Product, ...]) -> list[Product]:
    """Half of the brands and more cost a few percent more from today on."""
    brands = set(shuffled(rng, (brand.name for brand in BRANDS))[: 9 + round(9 * shop.wildness)])
    factor = 1.03 + 0.12 * rng.random()
    return [_raised(p, factor) if p.model.brand.name in brands else p for p in products]


def supplier_outage(shop: Shop, rng: Random, products: tuple[Product, ...]) -> list[Product]:
    """Some brands cannot deliver: none of theirs is in stock."""
    brands = set(shuffled(rng, (brand.name for brand in BRANDS))[: 1 + round(4 * shop.wildness)])
    return [replace(p, in_stock=p.in_stock and p.model.brand.name not in brands) for p in products]


def delivery(_shop: Shop, _rng: Random, products: tuple[Product, ...]) -> list[Product]:
    return [replace(product, in_stock=True) for product in products]


def _discount(product: Product, percent: int) -> Product:
    return replace(product, price_cents=discounted(product.list_cents, percent))


def _raised(product: Product, factor: float) -> Product:
    price, list_price = (shop_price(int(cents * factor)) for cents in (product.price_cents, product.list_cents))
    return replace(product, price_cents=min(price, list_price), list_cents=list_price)
