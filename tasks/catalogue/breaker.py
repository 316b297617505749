"""The gates before the shelf: counts in, reasons out. Pure; the caller records and acts."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

# In the order in which reasons are given; the first one is the reason of a run.
GATES = ("spike", "url_hash", "price_factor", "currency", "stock")
# What a feed may set of each gate: `least` is the smallest count that a share applies to, `most` a count too many.
PARTS = {
    "spike": ("share", "least", "most"),
    "url_hash": ("share", "least", "most"),
    "price_factor": ("share", "least"),
    "currency": ("share", "least"),
    "stock": ("share", "least"),
}
# A price that moves by one of these was written in other units, or lost its decimal sign: no sale does that.
FACTORS = ("1000", "100", "10", "0.1", "0.01", "0.001")
# How far from a factor is still near it: cents that were rounded, and a price that moved on the same day.
NEAR = "0.1"


@dataclass(frozen=True)
class OfferChanges:
    """What a run says differently, from what the shelf shows, of the products that stay there.

    `by_factor` counts prices that moved by one of the factors, in one currency; `in_stock_before` those that could
    sell out.
    """

    by_factor: Mapping[str, int] = field(default_factory=dict)
    currency_changed: int = 0
    in_stock_before: int = 0
    sold_out: int = 0


@dataclass(frozen=True)
class Counts:
    """What phase two counted: the shelf before, how much of it the run saw, and what the run read."""

    on_shelf: int
    seen: int
    products: int
    url_hash_fallbacks: int
    changes: OfferChanges = OfferChanges()

    @property
    def raw_would_expire(self) -> int:
        """Below zero only if a count is wrong: an alarm."""
        return self.on_shelf - self.seen

    @property
    def would_expire(self) -> int:
        return max(0, self.raw_would_expire)

    @property
    def share(self) -> float:
        """Of the shelf, what would expire; nothing if it was empty."""
        return self.would_expire / self.on_shelf if self.on_shelf else 0.0

    @property
    def url_hash_share(self) -> float:
        return self.url_hash_fallbacks / self.products if self.products else 0.0


@dataclass(frozen=True)
class Limits:
    """What a gate lets pass: up to a share, which counts only from `least` on, and up to `most` whatever the share."""

    share: float
    least: int = 0
    most: int | None = None


@dataclass(frozen=True)
class Reason:
    """Why a run must wait for a person."""

    code: str
    figures: Mapping[str, Any] = field(default_factory=dict)

    def document(self) -> dict[str, Any]:
        return {"code": self.code, **self.figures}


Check = Callable[[Counts, Limits], Reason | None]


def spike(counts: Counts, limits: Limits) -> Reason | None:
    """Too much of the shelf would expire: over the share and at least so many, or so many whatever the share."""
    gone = counts.would_expire
    is_large_share = counts.share > limits.share and gone >= limits.least
    if is_large_share or (limits.most is not None and gone >= limits.most):
        figures = {"would_expire_count": gone, "active_count_before": counts.on_shelf, "expire_percent": counts.share}
        return Reason("SPIKE_THRESHOLD_EXCEEDED", {**figures, **thresholds(limits)})
    return None


def url_hash(counts: Counts, limits: Limits) -> Reason | None:
    """Too many products have no identity but the hash of their address: over the share, or over so many."""
    found = counts.url_hash_fallbacks
    is_large_share = counts.url_hash_share > limits.share and found >= limits.least
    if is_large_share or (limits.most is not None and found > limits.most):
        figures = {"url_hash_fallback_count": found, "url_hash_fallback_percent": counts.url_hash_share}
        return Reason(
            "DATA_QUALITY_URL_HASH_SPIKE", {**figures, "products_upserted": counts.products, **thresholds(limits)}
        )
    return None


def price_factor(counts: Counts, limits: Limits) -> Reason | None:
    """Too many prices moved by a power of ten, of those that can be compared: on the shelf, seen, in one currency."""
    changes = counts.changes
    moved, compared = sum(changes.by_factor.values()), counts.seen - changes.currency_changed
    if not _is_large(moved, compared, limits):
        return None
    by_factor = {factor: changes.by_factor[factor] for factor in FACTORS if factor in changes.by_factor}
    figures = {"moved_count": moved, "compared_count": compared, "moved_percent": moved / compared}
    return Reason("PRICE_FACTOR_SPIKE", {**figures, "by_factor": by_factor, **thresholds(limits)})


def currency(counts: Counts, limits: Limits) -> Reason | None:
    """Too many of the products that stay on the shelf have another currency."""
    changed, compared = counts.changes.currency_changed, counts.seen
    if not _is_large(changed, compared, limits):
        return None
    figures = {"changed_count": changed, "compared_count": compared, "changed_percent": changed / compared}
    return Reason("CURRENCY_SPIKE", {**figures, **thresholds(limits)})


def stock(counts: Counts, limits: Limits) -> Reason | None:
    """Too many of the products that were in stock are out of it at once; what left the file is the spike's case."""
    sold_out, before = counts.changes.sold_out, counts.changes.in_stock_before
    if not _is_large(sold_out, before, limits):
        return None
    figures = {"sold_out_count": sold_out, "in_stock_before_count": before, "sold_out_percent": sold_out / before}
    return Reason("OUT_OF_STOCK_SPIKE", {**figures, **thresholds(limits)})


def _is_large(found: int, of: int, limits: Limits) -> bool:
    """Over the share, and enough to count: a feed of a few products moves in large shares on ordinary days."""
    return of > 0 and found / of > limits.share and found >= limits.least


# The first two are of the design; the others leave room above what ordinary weeks showed (docs/gates.md).
DEFAULTS: Mapping[str, Limits] = {
    "spike": Limits(0.30, least=10, most=500),
    "url_hash": Limits(0.50, most=1_000),
    "price_factor": Limits(0.10, least=10),
    "currency": Limits(0.10, least=10),
    "stock": Limits(0.80, least=10),
}
_CHECKS: Mapping[str, Check] = {
    "spike": spike,
    "url_hash": url_hash,
    "price_factor": price_factor,
    "currency": currency,
    "stock": stock,
}


def limits_of(gates: Mapping[str, Any]) -> dict[str, Limits]:
    """The limits of a feed by gate: its own where it has some, else the default; a gate that is off has none."""
    return {
        gate: replace(default, **_own(gates.get(gate, {})))
        for gate, default in DEFAULTS.items()
        if gates.get(gate) is not False
    }


def _own(setting: float | Mapping[str, Any]) -> Mapping[str, Any]:
    """As a feed has it: parts by name, or a bare share."""
    return setting if isinstance(setting, Mapping) else {"share": setting}


def judge(counts: Counts, limits: Mapping[str, Limits]) -> tuple[Reason, ...]:
    """Every reason to wait, in the order of the gates; none if the run may go on the shelf."""
    found = (_CHECKS[gate](counts, limits[gate]) for gate in GATES if gate in limits)
    return tuple(reason for reason in found if reason is not None)


def thresholds(limits: Limits | None) -> dict[str, Any]:
    """Limits in the words of the events."""
    if limits is None:
        return {"threshold_percent": None, "threshold_absolute": None}
    return {"threshold_percent": limits.share, "threshold_absolute": limits.most}
