"""A history: what is done to one feed, step by step, as plain values. Both sides of the comparison play it."""

import hashlib
from dataclasses import dataclass
from typing import Any, Literal

from tests.mill import csv_text, row

Identity = tuple[str, str]

PRICES = {1: ("10.00", "", "USD"), 2: ("11.00", "", "USD"), 3: ("8.50", "10.00", "USD"), 4: ("10.00", "", "EUR")}
FLAWS = {"title": {"name": ""}, "price": {"price": "on request"}}


@dataclass(frozen=True)
class Line:
    """One row of a file. Only the words that differ between histories; the rest follows from the number."""

    number: int
    price: int = 1
    title: int = 1
    in_stock: bool = True
    by: Literal["item", "sku", "url"] = "item"
    flaw: Literal["", "title", "price"] = ""

    @property
    def url(self) -> str:
        return f"https://shop.example/tent/{self.number}"

    @property
    def identity(self) -> Identity:
        match self.by:
            case "item":
                return "IMPACT_ITEM_ID", f"item-{self.number}"
            case "sku":
                return "SKU", f"sku-{self.number}"
            case "url":
                return "URL_HASH", hashlib.sha256(self.url.removeprefix("https://").encode()).hexdigest()

    def cells(self) -> dict[str, str]:
        """As `tests.mill.row` has them."""
        amount, original, currency = PRICES[self.price]
        named = {"name": f"Tent {self.number}, edition {self.title}", "url": self.url}
        ids = {"item": {}, "sku": {"item": ""}, "url": {"item": "", "sku": ""}}[self.by]
        stock = "Y" if self.in_stock else "N"
        said = {"price": amount, "original": original, "currency": currency, "stock": stock}
        return row(self.number, **{**named, **ids, **said, **FLAWS.get(self.flaw, {})})


def text_of(lines: tuple[Line, ...]) -> str:
    return csv_text(line.cells() for line in lines)


@dataclass(frozen=True)
class Fault:
    """What goes wrong in a run, at the first moment that it comes to this place after the faults before it."""

    kind: Literal["error", "refused", "cancel", "crash"]  # passes; does not pass; Ctrl-C; the process is gone
    place: Literal["fetch", "batch", "figures", "settle"]
    batch: int = 1
    when: Literal["before", "after"] = "before"  # the commit of that place's transaction


@dataclass(frozen=True)
class Run:
    """One run; before it perhaps a new file, or the same one with a new date. No lines at all: an empty file."""

    gap: float = 1  # hours since the step before; a clock may also stand still or step back
    lines: tuple[Line, ...] | None = None
    file: Literal["there", "touched", "gone"] = "there"
    batch_rows: int = 100
    force: bool = False
    lag: float = 0  # hours that each batch takes
    expiry_meanwhile: int | None = None  # edited by somebody between loading and settling
    faults: tuple[Fault, ...] = ()


@dataclass(frozen=True)
class Reap:
    gap: float = 1


@dataclass(frozen=True)
class Change:
    setting: Literal["expiry_hours", "heartbeat_hours", "unchanged_policy", "gates"]
    value: Any
    gap: float = 1


@dataclass(frozen=True)
class Primary:
    """Show this feed for its retailer, or another one that never runs."""

    this: bool
    gap: float = 1


@dataclass(frozen=True)
class Switch:
    name: Literal["pause", "resume", "reenable"]
    gap: float = 1


@dataclass(frozen=True)
class Remove:
    gap: float = 1


@dataclass(frozen=True)
class CleanUp:
    """The daily clean-up, after so long that some runs may be too old."""

    gap: float = 400


@dataclass(frozen=True)
class Approve:
    newest: int = 0  # which run: the newest, the one before, ...
    gap: float = 1


@dataclass(frozen=True)
class Reject:
    newest: int = 0
    gap: float = 1


Step = Run | Reap | Change | Primary | Switch | Remove | CleanUp | Approve | Reject
