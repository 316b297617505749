"""From one day to the next: sales, corrections, launches, farewells, stock; and what changed between two days.

An ordinary week is a run of `next_day` with other shares. What goes wrong with a file belongs into `files`.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain, islice
from random import Random

from feedmill.simulator.assortment import LINES
from feedmill.simulator.catalogue import (
    DISCOUNTS,
    WORDINGS,
    Catalogue,
    Product,
    dice,
    discounted,
    launch,
    pick,
    shop_price,
    shuffled,
)

_SHARE_OF_SALES = 0.6  # of the prices that move; the rest are corrections of single products


@dataclass(frozen=True, slots=True)
class Changes:
    """What differs between two catalogues; `offers_changed` counts once what moved in price or stock or both."""

    prices_moved: int
    new: int
    gone: int
    sold_out: int
    restocked: int
    retitled: int
    offers_changed: int


def compare(before: Catalogue, after: Catalogue) -> Changes:
    earlier = {product.number: product for product in before.products}
    pairs = [(earlier[product.number], product) for product in after.products if product.number in earlier]
    return Changes(
        prices_moved=sum(_price(old) != _price(new) for old, new in pairs),
        new=len(after.products) - len(pairs),
        gone=len(before.products) - len(pairs),
        sold_out=sum(old.in_stock and not new.in_stock for old, new in pairs),
        restocked=sum(new.in_stock and not old.in_stock for old, new in pairs),
        retitled=sum(old.wording != new.wording for old, new in pairs),
        offers_changed=sum(old.in_stock != new.in_stock or _price(old) != _price(new) for old, new in pairs),
    )


def _price(product: Product) -> tuple[int, int]:
    return product.price_cents, product.list_cents


def next_day(
    catalogue: Catalogue,
    *,
    seed: int,
    price_moves: float = 0.06,
    new: float = 0.01,
    gone: float = 0.01,
    sold_out: float = 0.02,
    restocked: float = 0.25,
    retitled: float = 0.002,
) -> Catalogue:
    """The day after. Rates are shares of all products, `restocked` of those out of stock, and are met exactly."""
    rng = dice("day", seed, catalogue.day + 1)
    size = len(catalogue.products)
    products = _without_farewells(rng, catalogue.products, count=round(gone * size))
    _turn_stock(rng, products, sold_out=round(sold_out * size), restocked=restocked)
    _move_prices(rng, products, count=round(price_moves * size))
    for index in shuffled(rng, range(len(products)))[: round(retitled * size)]:
        products[index] = replace(products[index], wording=(products[index].wording + 1) % WORDINGS)
    launches = list(islice(launch(rng, catalogue.next_number), round(new * size)))
    return Catalogue(
        day=catalogue.day + 1,
        products=(*products, *launches),
        next_number=catalogue.next_number + len(launches),
    )


def _without_farewells(rng: Random, products: Sequence[Product], *, count: int) -> list[Product]:
    """The products but for `count`, which go model by model."""
    models = defaultdict(list)
    for index, product in enumerate(products):
        models[product.model.number].append(index)
    leaving = set(islice(chain.from_iterable(shuffled(rng, models.values())), count))
    return [product for index, product in enumerate(products) if index not in leaving]


def _turn_stock(rng: Random, products: list[Product], *, sold_out: int, restocked: float) -> None:
    order = shuffled(rng, range(len(products)))
    here = [index for index in order if products[index].in_stock]
    away = [index for index in order if not products[index].in_stock]
    for index in (*here[:sold_out], *away[: round(restocked * len(away))]):
        products[index] = replace(products[index], in_stock=not products[index].in_stock)


def _move_prices(rng: Random, products: list[Product], *, count: int) -> None:
    moved = dict(islice(_sales(rng, products), round(count * _SHARE_OF_SALES)))
    others = (index for index in shuffled(rng, range(len(products))) if index not in moved)
    for index in islice(others, max(0, count - len(moved))):
        moved[index] = _corrected(rng, products[index])
    for index, product in moved.items():
        products[index] = product


def _sales(rng: Random, products: Sequence[Product]) -> Iterator[tuple[int, Product]]:
    """Line after line, either a sale that begins or one that ends, with the index of each product."""
    lines = defaultdict(list)
    for index, product in enumerate(products):
        lines[product.model.line.code].append(index)
    for line in shuffled(rng, LINES):
        members = _from_anywhere(rng, lines[line.code])
        # The more of a line is on sale, the likelier its sales end: the share stays near a quarter for ever.
        ends = rng.random() * len(members) < 2 * sum(products[index].on_sale for index in members)
        percent = 0 if ends else pick(rng, DISCOUNTS)
        for index in members:
            product = products[index]
            if product.on_sale == ends:
                yield index, replace(product, price_cents=discounted(product.list_cents, percent))


def _from_anywhere(rng: Random, indices: Sequence[int]) -> list[int]:
    """The same ring of indices from another start, so that it is not always the oldest models that go on sale."""
    start = int(rng.random() * len(indices))
    return [*indices[start:], *indices[:start]]


def _corrected(rng: Random, product: Product) -> Product:
    """Up to eight percent up or down and never the same; the list price follows unless a sale is on."""
    price = shop_price(int(product.price_cents * (0.92 + 0.16 * rng.random())))
    if price == product.price_cents:
        price = shop_price(price + 50)  # the next ending up
    list_price = max(product.list_cents, price) if product.on_sale else price
    return replace(product, price_cents=price, list_cents=list_price)
