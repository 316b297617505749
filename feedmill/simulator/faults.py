"""What goes wrong with files, on request: each fault takes a good file's rows and gives those of the bad one.

Each says what stops it: the reason of a gate, the code with which the file is refused, or nothing, if nothing does.
That is of a feed with the gates as they come, whose shelf holds the good file.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from feedmill.simulator.catalogue import Catalogue, dice, make_catalogue, shuffled
from feedmill.simulator.files import Row, feed_rows, write_rows

_PRICES = ("Current_Price", "Original_Price")
_SOME = 0.05
_FOREIGN = 1_000_003  # added to a seed: that of another shop

Damage = Callable[[list[Row], int], Iterable[Row]]


@dataclass(frozen=True)
class Fault:
    """What went wrong, in words; what stops it, if anything; and how the file is damaged: its rows, or its bytes."""

    title: str
    stopped_by: str
    rows: Damage | None = None
    keeps_bytes: float = 1.0
    is_packed: bool = False
    note: str = ""  # of a fault that nothing stops: what then happens


def write_faulty(name: str, catalogue: Catalogue, path: Path, *, seed: int = 7) -> Path:
    """The file of a catalogue with this fault, and where it lies: with .gz at the end if the fault is one of gzip."""
    fault = FAULTS[name]
    rows = list(feed_rows(catalogue))
    path = path.with_name(path.name + ".gz") if fault.is_packed and path.suffix != ".gz" else path
    write_rows(fault.rows(rows, seed) if fault.rows else rows, path)
    if fault.keeps_bytes < 1:
        whole = path.read_bytes()
        path.write_bytes(whole[: int(len(whole) * fault.keeps_bytes)])
    return path


def _columns(header: Row, names: Sequence[str]) -> list[int]:
    return [header.index(name) for name in names]


def _each(
    rows: list[Row], names: Sequence[str], change: Callable[[str], str], *, share: float = 1, seed: int = 0
) -> Iterator[Row]:
    """The rows with some cells changed, in every row or in a share of them."""
    header, *body = rows
    places = _columns(header, names)
    chosen = set(shuffled(dice("fault", seed), range(len(body)))[: round(share * len(body))])
    yield header
    for index, row in enumerate(body):
        hit = places if index in chosen else ()
        yield tuple(change(cell) if place in hit else cell for place, cell in enumerate(row))


def _cents(text: str) -> int:
    return int(text.replace(".", ""))


def _times_100(text: str) -> str:
    return f"{_cents(text)}.00"


def _times_001(text: str) -> str:
    return f"{_cents(text) / 10_000:.2f}"


def _without_comma(text: str) -> str:
    """As an export writes it that drops zeros at the end, and whose decimal comma then got lost."""
    return text.rstrip("0").rstrip(".").replace(".", "")


def cents_for_units(rows: list[Row], seed: int) -> Iterable[Row]:
    return _each(rows, _PRICES, _times_100, seed=seed)


def _shifted(rows: list[Row], _seed: int) -> Iterable[Row]:
    header, *body = rows
    return [header, *(("", *row[:-1]) for row in body)]


def _shifted_from_the_middle(rows: list[Row], _seed: int) -> Iterable[Row]:
    """A text with a separator in it that nobody quoted: one cell too many."""
    half = len(rows) // 2
    return [*rows[:half], *((*row[:2], "", *row[2:]) for row in rows[half:])]


def _of_another_shop(rows: list[Row], seed: int) -> Iterable[Row]:
    return feed_rows(make_catalogue(seed + _FOREIGN, len(rows) - 1))


def _one_id_per_model(rows: list[Row], _seed: int) -> Iterable[Row]:
    """Every variant carries the ids of the first row with its picture: that of its model and colour."""
    header, *body = rows
    item, sku, image = _columns(header, ("CatalogItemId", "Unique_Merchant_SKU", "Image_URL"))
    first: dict[str, Row] = {}
    yield header
    for row in body:
        owner = first.setdefault(row[image], row)
        yield tuple(owner[place] if place in (item, sku) else cell for place, cell in enumerate(row))


def _each_row_twice(rows: list[Row], _seed: int) -> Iterable[Row]:
    return [rows[0], *(row for row in rows[1:] for _ in range(2))]


def _renumbered(rows: list[Row], _seed: int) -> Iterable[Row]:
    return _each(rows, ("CatalogItemId",), lambda text: f"9{text[::-1]}")


def _without_item_ids(rows: list[Row], _seed: int) -> Iterable[Row]:
    return [row[1:] for row in rows]


def _without_ids(rows: list[Row], _seed: int) -> Iterable[Row]:
    return [row[2:] for row in rows]


def _of_the_next_row(names: Sequence[str]) -> Damage:
    """A column that was sorted without the others."""

    def damage(rows: list[Row], _seed: int) -> Iterable[Row]:
        header, *body = rows
        places = _columns(header, names)
        yield header
        for row, following in zip(body, [*body[1:], body[0]], strict=True):
            yield tuple(following[place] if place in places else cell for place, cell in enumerate(row))

    return damage


def _set(name: str, text: str) -> Damage:
    return lambda rows, _seed: _each(rows, (name,), lambda _cell: text)


def _html(_rows: list[Row], _seed: int) -> Iterable[Row]:
    return [("<!DOCTYPE html>",), ("<html><head><title>503</title></head>",), ("<body>Try later</body></html>",)]


_SPIKE, _FACTOR = "SPIKE_THRESHOLD_EXCEEDED", "PRICE_FACTOR_SPIKE"

FAULTS: dict[str, Fault] = {
    "truncated": Fault("the file ends half-way", _SPIKE, keeps_bytes=0.5),
    "truncated_gzip": Fault("the gzip file ends half-way", "FILE_STILL_UPLOADING", keeps_bytes=0.5, is_packed=True),
    "truncated_a_little": Fault(
        "the file lacks its last tenth", "", keeps_bytes=0.9, note="those products leave the shelf as if sold off"
    ),
    "header_only": Fault("the header and no row", "EMPTY_FILE", lambda rows, _seed: rows[:1]),
    "error_page": Fault("a web page that says an error", "PARSE_ERROR", _html),
    "shifted_columns": Fault("every value one column to the right", "NO_USABLE_ROWS", _shifted),
    "shifted_from_the_middle": Fault("from the middle on a cell too many", _SPIKE, _shifted_from_the_middle),
    "wrong_currency": Fault("another currency, the same amounts", "CURRENCY_SPIKE", _set("Currency", "EUR")),
    "wrong_retailer": Fault("the file of another retailer", _SPIKE, _of_another_shop),
    "cents_for_units": Fault("prices times 100", _FACTOR, cents_for_units),
    "units_for_cents": Fault(
        "prices times 0.01", _FACTOR, lambda rows, seed: _each(rows, _PRICES, _times_001, seed=seed)
    ),
    "decimal_comma_lost": Fault(
        "the decimal comma lost", _FACTOR, lambda rows, seed: _each(rows, _PRICES, _without_comma, seed=seed)
    ),
    "some_cents_for_units": Fault(
        "one price in twenty times 100",
        "",
        lambda rows, seed: _each(rows, _PRICES, _times_100, share=_SOME, seed=seed),
        note="the wrong prices show: half of what the gate asks for",
    ),
    "prices_of_others": Fault(
        "each price that of the next row",
        "",
        _of_the_next_row(_PRICES),
        note="the wrong prices show: their factors are those of ordinary sales",
    ),
    "titles_of_others": Fault(
        "each title that of the next row",
        "",
        _of_the_next_row(("Product_Name",)),
        note="the wrong titles show: no gate looks at texts",
    ),
    "all_out_of_stock": Fault("nothing in stock", "OUT_OF_STOCK_SPIKE", _set("Stock_Availability", "N")),
    "stock_lost": Fault(
        "the stock column empty", "", _set("Stock_Availability", ""), note="everything shows as in stock"
    ),
    "duplicated_ids": Fault("all sizes of a model with one id", _SPIKE, _one_id_per_model),
    "rows_twice": Fault(
        "every row twice", "", _each_row_twice, note="harmless: duplicates are counted, nothing changes"
    ),
    "re_identified": Fault("every product with a new id", _SPIKE, _renumbered),
    "item_ids_lost": Fault("the column of item ids gone, so SKUs identify", _SPIKE, _without_item_ids),
    "ids_lost": Fault("no id at all, so addresses identify", _SPIKE, _without_ids),
}
