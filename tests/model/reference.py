"""The rules of the catalogue, literally: every row rewritten, one after the other, over dictionaries.

Slow and obvious on purpose. It knows neither spans nor observation numbers nor SQL: what a promotion shows is copied to
each product when it happens, and what readers saw at a moment is written down at that moment.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from tests.model.books import Books, RefusedError
from tests.model.history import Fault, Line, Run
from tests.model.rows import Price, Product, RunRow, attributes_of, said_by

TRIES = 3
_LIMITS = {"spike": {"share": 0.30, "least": 10, "most": 500}, "url_hash": {"share": 0.50, "most": 1000}}


class StoppedError(Exception):
    """A run cannot go on."""

    def __init__(self, *, code: str = "INJECTED") -> None:
        super().__init__(code)


class TransientError(StoppedError):
    """May pass when tried again."""


class PermanentError(StoppedError):
    """Will not."""


class CanceledError(StoppedError):
    """Ctrl-C."""


class ProcessGoneError(StoppedError):
    """Nothing else happens, not even an ending."""


_KINDS = {"error": TransientError, "refused": PermanentError, "cancel": CanceledError, "crash": ProcessGoneError}


@dataclass
class Reference(Books):
    """The feed, and what its runs do to it."""

    faults: list[Fault] = field(default_factory=list)

    def run(self, step: Run) -> None:
        """Section 6.4: under the lock close the dead, look again, make a record, and end it whatever happens."""
        self.close_the_dead()
        self.refuse_unless_enabled()
        run = RunRow(
            len(self.runs) + 1, self.now(), self.config_version, self.heartbeat_hours, self.unchanged_policy, self.gates
        )
        self.stamp = run.started_at
        self.runs.append(run)
        self.job_starts += 1
        self.faults = list(step.faults)
        try:
            self._steps(run, step)
        except (TransientError, PermanentError) as error:
            self.fail(run, str(error), counts=True)
        except CanceledError:
            self.fail(run, "CANCELED_BY_OPERATOR", counts=False)
        except ProcessGoneError:
            pass  # the record says RUNNING until somebody finds out

    def _steps(self, run: RunRow, step: Run) -> None:
        unchanged = _tries(lambda _: self._fetch(step))
        if unchanged:
            _tries(lambda _: self._skip(run, unchanged))
            return
        _tries(lambda _: self._load(run, step))
        if step.expiry_meanwhile is not None:
            self.change("expiry_hours", step.expiry_meanwhile)
        _tries(lambda left: self._settle(run, may_try_again=left > 0))

    def _reach(self, place: str, when: str, batch: int = 1) -> None:
        """Come to a place where something may go wrong."""
        if self.faults and self.faults[0] == Fault(self.faults[0].kind, place, batch, when):
            raise _KINDS[self.faults.pop(0).kind]

    def _fetch(self, step: Run) -> str | None:
        """Section 9.5: why the file need not be read, if so."""
        if self.file is None:
            raise PermanentError(code="FILE_NOT_FOUND")
        last = None if step.force else self.last_file
        if last and (last.modified_at, last.size) == (self.file.modified_at, self.file.size):
            return "UNCHANGED_MTIME"
        self._reach("fetch", "before")
        return "UNCHANGED_HASH" if last and last.sha256 == self.file.sha256 else None

    def _skip(self, run: RunRow, reason: str) -> None:
        """Section 9.6: a record, and nothing else; or, if the feed wants that, the file counts as seen again."""
        self._reach("settle", "before")
        run.skipped_reason = reason
        processed = [other for other in self.runs if other.is_processed]
        if run.unchanged_policy == "refresh" and processed and processed[-1].is_promoted:
            self._refresh(run, processed[-1], at=self.now())
        self._close(run)

    def _refresh(self, run: RunRow, last: RunRow, *, at: datetime) -> None:
        """What the last promotion showed is shown again: its products, at its prices, as of now."""
        run.seen, run.observed_at, run.is_promoted = last.seen, at, True
        for product in (self.products[key] for key in last.seen):
            product.last_seen_at = product.shown_seen_at = product.last_seen_success_at = at

    def _load(self, run: RunRow, step: Run) -> None:
        """Phase one: every row of every batch, one after the other; a batch is written whole or not at all."""
        lines = self.file.lines if self.file else ()
        good = [line for line in lines if not line.flaw]
        if not good:
            raise PermanentError(code="NO_USABLE_ROWS" if lines else "EMPTY_FILE")
        self.stamp = run.observed_at = self.now()
        run.seen, run.changed = {}, set()  # the seen set of a run is that of its final attempt
        for number, batch in enumerate(_batches(good, step.batch_rows), start=1):
            self._reach("batch", "before", number)
            run.has_batch = True
            for line in batch:
                self._observe(run, line, run.observed_at)
            self.clock += timedelta(hours=step.lag)
            self._reach("batch", "after", number)
        self._reach("figures", "before")
        run.figures = _figures(run, lines)
        run.prices = {key: self.products[key].prices[-1] for key in run.seen}
        self._reach("figures", "after")

    def _observe(self, run: RunRow, line: Line, at: datetime) -> None:
        """Section 7.2: the product, its presence, that it was seen, and its price if one is due."""
        product = self.products.get(line.identity)
        if product is None:
            product = self.products[line.identity] = Product(attributes_of(line), at)
            run.created.add(line.identity)
        elif product.attributes != attributes_of(line):
            run.changed.add(line.identity)  # what is shown changes with the promotion, not now
        product.last_seen_at = at
        run.seen[line.identity] = line
        reason = _price_reason(product, line, at, heartbeat_hours=run.heartbeat_hours)
        repeated = any(old.run == run.number and old.said == said_by(line) for old in product.prices)
        if reason and not repeated:
            product.prices.append(Price(said_by(line), reason, run.number, at))

    def _settle(self, run: RunRow, *, may_try_again: bool) -> None:
        """Phase two, section 8.2. If it cannot be done, the run ends well all the same and waits for a person."""
        try:
            self._judge(run)
        except (TransientError, PermanentError) as error:
            if isinstance(error, TransientError) and may_try_again:
                raise
            self._reach("settle", "before")
            run.step_failed, run.figures["products_expired"] = True, 0
            self.last_file = None  # so that the next run reads its file again, whatever it is
            self._close(run)

    def _judge(self, run: RunRow) -> None:
        """By the set of the last promotion: promote, or wait for a person."""
        self._reach("settle", "before")
        run.figures |= self._moves(run)
        run.blocked = self._gates(run)
        for other in self.runs[:-1]:
            other.is_folded = True  # its seen rows go, unless it was promoted
        if not run.blocked:
            self._promote(run, at=self.now())
        if run.config_version == self.config_version:
            self.last_file = self.file
        self._close(run)

    def _close(self, run: RunRow) -> None:
        self.stamp = self.now()
        self.succeed(run)
        self._reach("settle", "after")

    def _moves(self, run: RunRow) -> dict[str, int]:
        vanished = self.shelf - run.seen.keys()
        returned = {key for key in run.seen if self.products[key].last_seen_success_at} - self.shelf
        return {
            "active_count_before": len(self.shelf),
            "seen_success_count": len(self.shelf) - len(vanished),
            "would_expire_count": len(vanished),
            "products_vanished": len(vanished),
            "products_returned": len(returned),
            "products_expired": 0,
        }

    def _gates(self, run: RunRow) -> list[str]:
        """Sections 8.8 and 3.3.2, with the feed's own limits."""
        reasons, gates = [], {**_LIMITS, **run.gates}
        vanished, by_url = run.figures["would_expire_count"], run.figures["url_hash_fallback_count"]
        spike, url_hash = ({**_LIMITS[name], **(gates[name] or {})} for name in ("spike", "url_hash"))
        share = vanished / len(self.shelf) if self.shelf else 0
        is_spike = (share > spike["share"] and vanished >= spike["least"]) or vanished >= spike["most"]
        if gates["spike"] is not False and is_spike:
            reasons.append("SPIKE_THRESHOLD_EXCEEDED")
        is_by_url = by_url / len(run.seen) > url_hash["share"] or by_url > url_hash["most"]
        if gates["url_hash"] is not False and is_by_url:
            reasons.append("DATA_QUALITY_URL_HASH_SPIKE")
        return reasons

    def _promote(self, run: RunRow, *, at: datetime) -> None:
        """Every product that the run saw is shown as the run saw it; the others stay as they are, and age."""
        for key, line in run.seen.items():
            product = self.products[key]
            product.last_seen_success_at = at
            product.attributes = attributes_of(line)
            product.shown_price, product.shown_seen_at = run.prices[key], run.observed_at
            product.shown_price.promoted = True
        self.shelf = set(run.seen)
        run.is_promoted = True
        run.figures["products_expired"] = run.figures["would_expire_count"]

    def approve(self, run: RunRow) -> None:
        """Section 8.7, as of the time of the approval."""
        self._refuse_verdict(run)
        run.approved_at = self.stamp = self.now()
        if run.step_failed:  # nobody has counted yet
            run.figures |= self._moves(run)
        self._promote(run, at=run.approved_at)

    def reject(self, run: RunRow) -> None:
        self._refuse_verdict(run)
        run.rejected_at = self.stamp = self.now()

    def _refuse_verdict(self, run: RunRow) -> None:
        """Every rule under the lock, where the dead are closed first."""
        if run.is_deleted:
            raise RefusedError(code="RUN_NOT_FOUND")
        self.close_the_dead()
        later = [other for other in self.runs if other.number > run.number and other.is_processed]
        rules = {
            "RUN_NOT_SUCCEEDED": run.status != "SUCCEEDED",
            "NOT_BLOCKED": not run.waits,
            "ALREADY_APPROVED": run.approved_at is not None,
            "ALREADY_REJECTED": run.rejected_at is not None,
            "STALE_RUN": bool(later),  # skipped and failed runs do not make it stale
        }
        for code, is_broken in rules.items():
            if is_broken:
                raise RefusedError(code=code)
        self.refuse_if_removed()


def _tries(attempt: Callable[[int], Any]) -> Any:
    """Three attempts, while what goes wrong may pass."""
    for left in reversed(range(TRIES)):
        try:
            return attempt(left)
        except TransientError:
            if not left:
                raise
    return None


def _batches(good: list[Line], size: int) -> Iterator[list[Line]]:
    """The last row of each product over the whole file, in the order of the file."""
    last_rows = {line.identity: number for number, line in enumerate(good)}
    kept = [good[number] for number in sorted(last_rows.values())]
    for first in range(0, len(kept), size):
        yield kept[first : first + size]


def _price_reason(product: Product, line: Line, at: datetime, *, heartbeat_hours: int) -> str | None:
    """Section 4.2, against the latest row, promoted or not."""
    if not product.prices:
        return "new"
    last = product.prices[-1]
    if last.said != said_by(line):
        return "changed"
    is_due = at - last.observed_at >= timedelta(hours=heartbeat_hours)
    return "heartbeat" if heartbeat_hours and is_due else None


def _figures(run: RunRow, lines: tuple[Line, ...]) -> dict[str, int]:
    """Every row in one bucket."""
    rejected = sum(1 for line in lines if line.flaw)
    return {
        "rows_read": len(lines),
        "rows_parsed": len(lines) - rejected,
        "products_upserted": len(run.seen),
        "products_created": len(run.created),
        "products_changed": len(run.changed),
        "products_unchanged": len(run.seen) - len(run.created) - len(run.changed),
        "products_rejected": rejected,
        "duplicate_key_count": len(lines) - rejected - len(run.seen),
        "url_hash_fallback_count": sum(1 for kind, _ in run.seen if kind == "URL_HASH"),
    }
