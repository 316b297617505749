"""The products of a simulated shop on one day: made from a seed, the same on every machine and Python version."""

import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from random import Random
from typing import TypeVar

from feedmill.simulator.assortment import BRANDS, COLOURS, EDITIONS, FEATURES, IMAGES, LINES, NAMES, SITE, Brand, Line

T = TypeVar("T")

CURRENCY = "USD"
WORDINGS = 3
_ON_SALE = 0.22
_OUT_OF_STOCK = 0.07  # where selling out and restocking at the rates of `next_day` balance
DISCOUNTS = (10, 15, 20, 25, 30, 40)
_SPELLED = str.maketrans({"ø": "o", "½": "half", "™": "", "'": ""})  # what Unicode does not take apart, or badly


@dataclass(frozen=True, slots=True)
class Model:
    """What the variants of a product share."""

    number: int
    line: Line
    brand: Brand
    name: str
    slug: str
    description: str


@dataclass(frozen=True, slots=True)
class Product:
    """One variant: one row of the file. Texts are derived when asked for, so half a million fit in memory."""

    model: Model
    number: int
    colour: str
    size: str
    price_cents: int
    list_cents: int
    in_stock: bool
    wording: int = 0

    @property
    def on_sale(self) -> bool:
        return self.price_cents < self.list_cents

    @property
    def item_id(self) -> str:
        return str(100_000_000 + (self.number * 654_188_429 + 77) % 900_000_000)  # factors coprime: no id twice

    @property
    def sku(self) -> str:
        return f"{self.model.line.code}-{self.number:08d}"

    @property
    def gtin(self) -> str:
        """A GTIN-12, or nothing if the brand has no codes."""
        prefix = self.model.brand.gtin_prefix
        return with_check_digit(f"{prefix}{(self.number * 76_543_217) % 100_000_000:08d}") if prefix else ""

    @property
    def title(self) -> str:
        what, brand = f"{self.model.name} {self.model.line.noun}", self.model.brand.name
        options = self.colour if self.size == "One Size" else f"{self.colour}, {self.size}"
        if self.wording == 0:
            return f"{brand} {what} - {options}"
        return f"{brand} {what} ({options})" if self.wording == 1 else f"{what} by {brand}, {options}"

    @property
    def url(self) -> str:
        return f"{SITE}/p/{self.model.slug}/{self.number}?color={slug(self.colour)}&size={slug(self.size)}"

    @property
    def image_url(self) -> str:
        return f"{IMAGES}/{self.model.number}/{slug(self.colour)}_main.jpg?w=1200&fmt=webp"


@dataclass(frozen=True, slots=True)
class Catalogue:
    day: int
    products: tuple[Product, ...]
    next_number: int  # never used before, so a new product cannot take the number of a vanished one


def make_catalogue(seed: int, size: int) -> Catalogue:
    """The first day. The smaller of two catalogues of one seed is the beginning of the larger."""
    rng = dice("catalogue", seed)
    first = 1_000_000 * (1 + int(rng.random() * 90))  # so that two seeds seldom share ids
    products = tuple(islice(launch(rng, first), size))
    return Catalogue(day=0, products=products, next_number=first + size)


def launch(rng: Random, number: int) -> Iterator[Product]:
    """New products without end, model by model, numbered from `number` on."""
    while True:
        model = _model(rng, number)
        list_cents = _list_cents(rng, model.line)
        for colour in _some(rng, COLOURS, most=4):
            price = discounted(list_cents, pick(rng, DISCOUNTS)) if rng.random() < _ON_SALE else list_cents
            for size in model.line.sizes:
                in_stock = rng.random() >= _OUT_OF_STOCK
                yield Product(model, number, colour, size, price, list_cents, in_stock)
                number += 1


def _model(rng: Random, number: int) -> Model:
    line, brand = pick(rng, LINES), pick(rng, BRANDS)
    name = f"{pick(rng, line.audiences)} {pick(rng, NAMES)}{pick(rng, EDITIONS)}".strip()
    blurb = " ".join(_some(rng, FEATURES, most=3))
    description = f"The {name} {line.noun} from {brand.name}. {blurb}"
    return Model(number, line, brand, name, slug=slug(f"{brand.name} {name} {line.noun}"), description=description)


def _list_cents(rng: Random, line: Line) -> int:
    share = rng.random()
    share *= share  # most of a range is near its cheap end
    return shop_price(100 * line.cheapest + int(share * 100 * (line.dearest - line.cheapest)))


def shop_price(cents: int) -> int:
    """The highest price up to `cents` that ends as prices in shops end; at least 49 cents."""
    dollars = cents // 100 * 100
    for ending in (99, 95, 49):
        if dollars + ending <= cents:
            return dollars + ending
    return max(dollars - 1, 49)


def discounted(cents: int, percent: int) -> int:
    return shop_price(cents * (100 - percent) // 100)


def with_check_digit(eleven_digits: str) -> str:
    odd, even = sum(map(int, eleven_digits[::2])), sum(map(int, eleven_digits[1::2]))
    return f"{eleven_digits}{-(3 * odd + even) % 10}"


@lru_cache(maxsize=1024)
def slug(text: str) -> str:
    """The words of a text as they appear in an address: ASCII letters and digits with hyphens."""
    plain = unicodedata.normalize("NFKD", text.translate(_SPELLED)).encode("ascii", "ignore").decode().lower()
    return "-".join("".join(c if c.isalnum() else " " for c in plain).split())


def dice(*seed: object) -> Random:
    """Chance from a seed. Only `random()` may be drawn: alone of all methods it is promised to stay as it is."""
    return Random("/".join(map(str, seed)))  # noqa: S311 - a simulation, not a secret


def pick(rng: Random, options: Sequence[T]) -> T:
    return options[int(rng.random() * len(options))]


def shuffled(rng: Random, items: Iterable[T]) -> list[T]:
    result = list(items)
    for last in range(len(result) - 1, 0, -1):
        other = int(rng.random() * (last + 1))
        result[last], result[other] = result[other], result[last]
    return result


def _some(rng: Random, options: Sequence[T], *, most: int) -> list[T]:
    return shuffled(rng, options)[: 1 + int(rng.random() * most)]
