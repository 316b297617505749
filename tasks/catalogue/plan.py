"""What a run would do, before it does it: counts, products, prices that move, gates, and a digest of it all. Pure."""

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from functools import cached_property
from itertools import pairwise
from typing import Any

import polars as pl

from db.enums import PriceReason
from db.errors import BadRequestError
from tasks.catalogue import breaker, diff
from tasks.catalogue.breaker import Counts, Limits, Reason
from tasks.catalogue.identity import KEY
from tasks.catalogue.offer_changes import changes_of
from tasks.catalogue.survey import Survey
from tasks.catalogue.validate import currencies

_DIGEST = re.compile(r"[0-9a-f]{64}")
_DIGEST_VERSION = 1
_PRICE = ("price", "original_price", "currency", "in_stock")
_ANY_TIME = datetime(2000, 1, 1, tzinfo=UTC)  # only heartbeats ask for it

# How far a price moved, in percent of the one that shows: the bounds of the picture.
BOUNDS = (-50, -20, -10, -5, 0, 5, 10, 20, 50)


@dataclass(frozen=True)
class Basis:
    """What a plan rests on beside the products: the file, the shelf, the limits of the gates."""

    content_hash: str
    newest_seq: int
    limits: Mapping[str, Limits]


def shelf_schema() -> dict[str, pl.DataType | type[pl.DataType]]:
    """The shelf as it is read: every product that was ever on it; what it shows, if it is."""
    return {
        "product_id": pl.Int64,
        "is_open": pl.Boolean,
        "shown_price": pl.Int64,
        "shown_original_price": pl.Int64,
        "shown_currency": currencies(),
        "shown_in_stock": pl.Boolean,
    }


def valid_digest(text: str) -> str:
    """Refuses what no plan has."""
    if not _DIGEST.fullmatch(text):
        message = f"{text!r} is not the digest of a plan"
        raise BadRequestError(message, code="BAD_DIGEST", hint="it has 64 hex digits; see feedmill plan KEY")
    return text


def digest_of(products: pl.DataFrame, state: pl.DataFrame, basis: Basis) -> str:
    """SHA-256 over the basis and all that would be written but heartbeats. The same file on the same shelf gives the
    same one, at any time."""
    compared = diff.with_changes(products, state, now=_ANY_TIME, heartbeat_hours=0)
    has_price = pl.col("price_reason").is_not_null()
    said = compared.filter(diff.needs_attributes() | has_price).select(
        pl.col(KEY).cast(pl.String),
        pl.when(diff.needs_attributes()).then("fingerprint").alias("fingerprint"),
        *(pl.when(has_price).then(pl.col(name).cast(pl.String)).alias(name) for name in _PRICE),
    )
    limits = {gate: asdict(limit) for gate, limit in basis.limits.items()}
    head = {"version": _DIGEST_VERSION, "file": basis.content_hash, "promotion": basis.newest_seq, "limits": limits}
    digest = hashlib.sha256(json.dumps(head, sort_keys=True).encode() + b"\n")
    # A null has no quotes, a text always has: no two sets of products give the same bytes.
    digest.update(said.sort(KEY).write_csv(null_value="-", quote_style="non_numeric").encode())
    return digest.hexdigest()


@dataclass(frozen=True)
class Plan:
    """What a run would do now."""

    digest: str
    basis: Basis
    survey: Survey
    products: pl.DataFrame  # of the file: as compared, with what the shelf shows of them
    on_shelf: pl.DataFrame  # what shows, with the identities

    @cached_property
    def new(self) -> pl.DataFrame:
        return self.products.filter(pl.col("product_id").is_null())

    @cached_property
    def changed(self) -> pl.DataFrame:
        return self.products.filter("is_changed")

    @cached_property
    def gone(self) -> pl.DataFrame:
        """On the shelf and not in the file."""
        return self.on_shelf.join(self.shown, on="product_id", how="anti").sort("product_id")

    @cached_property
    def returned(self) -> pl.DataFrame:
        """Were on the shelf before, and are not now."""
        return self.products.filter(pl.col("is_open") == pl.lit(value=False))

    @cached_property
    def priced(self) -> dict[str, int]:
        """Prices that would be written, by reason."""
        found = dict(self.products["price_reason"].drop_nulls().cast(pl.String).value_counts().iter_rows())
        return {reason.value: found.get(reason.value, 0) for reason in PriceReason}

    @cached_property
    def shown(self) -> pl.DataFrame:
        """Products on the shelf and in the file."""
        return self.products.filter("is_open")

    @cached_property
    def moves(self) -> pl.DataFrame:
        """Prices that would move, in one currency, the furthest first; `factor` is the new one over the shown one."""
        comparable = (pl.col("currency") == pl.col("shown_currency")) & (pl.col("shown_price") > 0)
        moved = self.shown.filter(comparable & (pl.col("price") != pl.col("shown_price")))
        factors = moved.with_columns(factor=pl.col("price") / pl.col("shown_price"))
        return factors.sort(pl.col("factor").log().abs(), "product_id", descending=[True, False])

    @cached_property
    def counts(self) -> Counts:
        before, products = self.on_shelf.height, self.products.height
        kept = self.shown.select(
            *(pl.col(f"shown_{name}").alias(name) for name in ("price", "currency", "in_stock")),
            *(pl.col(name).alias(f"{name}_after") for name in ("price", "currency", "in_stock")),
        )
        fallbacks = self.survey.url_hash_fallbacks
        return Counts(before, before - self.gone.height, products, fallbacks, changes_of(kept))

    @cached_property
    def reasons(self) -> tuple[Reason, ...]:
        """Of the gates that would trip."""
        return breaker.judge(self.counts, self.basis.limits)

    def figures(self) -> dict[str, Any]:
        """In the names of a run's record."""
        counts = self.counts
        created, changed = self.new.height, self.changed.height
        return {
            "rows_read": self.survey.rows_read,
            "products_upserted": counts.products,
            "products_created": created,
            "products_changed": changed,
            "products_unchanged": counts.products - created - changed,
            "products_rejected": self.survey.rejected,
            "rejected_by_code": self.survey.rejected_by_code,
            "duplicate_key_count": self.survey.duplicates,
            "url_hash_fallback_count": counts.url_hash_fallbacks,
            "prices_written": sum(self.priced.values()),
            "active_count_before": counts.on_shelf,
            "seen_success_count": counts.seen,
            "would_expire_count": counts.would_expire,
            "products_vanished": self.gone.height,
            "products_returned": self.returned.height,
            "expiry_blocked": bool(self.reasons),
            "expiry_blocked_reason": self.reasons[0].code if self.reasons else None,
            "blocked_reasons": [reason.document() for reason in self.reasons],
        }

    def shelf_changes(self) -> dict[str, int]:
        """What shoppers would notice of the products that stay."""
        was, now = pl.col("shown_in_stock"), pl.col("in_stock")
        return {
            "prices_up": self.moves.filter(pl.col("factor") > 1).height,
            "prices_down": self.moves.filter(pl.col("factor") < 1).height,
            "currencies_changed": self.shown.filter(pl.col("currency") != pl.col("shown_currency")).height,
            "sold_out": self.shown.filter(was & ~now).height,
            "restocked": self.shown.filter(~was & now).height,
        }

    def distribution(self) -> list[dict[str, Any]]:
        """How many prices moved by how much, in percent: those above one bound and up to the next."""
        moved, shown = pl.col("price") * 100, pl.col("shown_price")
        at_most = [self.moves.filter(moved <= shown * (100 + bound)).height for bound in BOUNDS]  # exact: no fractions
        sums = [0, *at_most, self.moves.height]
        edges = [None, *BOUNDS, None]
        counts = [later - sooner for sooner, later in pairwise(sums)]
        bounds = pairwise(edges)
        return [{"above": low, "up_to": high, "count": n} for (low, high), n in zip(bounds, counts, strict=True)]


def make_plan(
    survey: Survey, state: pl.DataFrame, shelf: pl.DataFrame, *, basis: Basis, now: datetime, heartbeat_hours: int
) -> Plan:
    """The plan for a file on this state and shelf, as of now."""
    compared = diff.with_changes(survey.products, state, now=now, heartbeat_hours=heartbeat_hours)
    return Plan(
        digest=digest_of(survey.products, state, basis),
        basis=basis,
        survey=survey,
        products=compared.join(shelf, on="product_id", how="left", maintain_order="left"),
        on_shelf=shelf.filter("is_open").join(state.select("product_id", *KEY), on="product_id", how="inner"),
    )
