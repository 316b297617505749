"""The rows of the reference: one object per row that the seed's tables would hold, rewritten in place."""

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from tests.model.history import PRICES, Identity, Line


def attributes_of(line: Line) -> dict[str, str | None]:
    """What a file says of a product beside its price."""
    cells = line.cells()
    return {
        "title": cells["name"],
        "url": line.url,
        "impact_item_id": cells["item"] or None,
        "sku": cells["sku"] or None,
        "upc": cells["upc"],
        "brand": cells["brand"],
    }


@dataclass(frozen=True)
class Said:
    """Everything that a price row says: two of them are the same signature if they are equal."""

    price: str
    original_price: str | None
    currency: str
    in_stock: bool


def said_by(line: Line) -> Said:
    amount, original, currency = PRICES[line.price]
    return Said(amount, original or None, currency, line.in_stock)


@dataclass
class Price:
    said: Said
    reason: str
    run: int
    observed_at: datetime
    promoted: bool = False


@dataclass
class Product:
    """A source product with its presence row, and what readers of offers are shown of it."""

    attributes: dict[str, str | None]
    last_seen_at: datetime
    last_seen_success_at: datetime | None = None
    prices: list[Price] = field(default_factory=list)
    shown_price: Price | None = None
    shown_seen_at: datetime | None = None


@dataclass
class RunRow:
    """A run's record, and of a run that read its file to the end what a promotion of it would show."""

    number: int
    started_at: datetime
    config_version: int
    heartbeat_hours: int
    unchanged_policy: str
    gates: dict[str, Any]
    status: str = "RUNNING"
    error_code: str | None = None
    skipped_reason: str | None = None
    observed_at: datetime | None = None
    has_batch: bool = False
    created: set[Identity] = field(default_factory=set)
    changed: set[Identity] = field(default_factory=set)
    seen: dict[Identity, Line] = field(default_factory=dict)  # the seen rows of its final attempt
    prices: dict[Identity, Price] = field(default_factory=dict)  # the latest ones once it had read its file
    figures: dict[str, Any] = field(default_factory=dict)
    is_promoted: bool = False
    is_folded: bool = False
    is_deleted: bool = False
    blocked: list[str] = field(default_factory=list)
    step_failed: bool = False
    approved_at: datetime | None = None
    rejected_at: datetime | None = None

    @property
    def is_processed(self) -> bool:
        return self.status == "SUCCEEDED" and self.skipped_reason is None

    @property
    def waits(self) -> bool:
        """For a person: blocked by a gate, or by an error in phase two."""
        return bool(self.blocked) or self.step_failed
