"""The rules of the catalogue, literally: every row rewritten, one after the other, over dictionaries.

Slow and obvious on purpose. It knows neither spans nor observation numbers nor SQL: what a promotion shows is copied to
each product when it happens, and what readers saw at a moment is written down at that moment.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from tests.model.history import Line, Run
from tests.model.phase_two import CanceledError, PermanentError, PhaseTwo, ProcessGoneError, TransientError
from tests.model.rows import Price, Product, RunRow, attributes_of, said_by

TRIES = 3


@dataclass
class Reference(PhaseTwo):
    """The feed, and what its runs do to it."""

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

    def _fetch(self, step: Run) -> str | None:
        """Section 9.5: why the file need not be read, if so."""
        if self.file is None:
            raise PermanentError(code="FILE_NOT_FOUND")
        last = None if step.force else self.last_file
        if last and (last.modified_at, last.size) == (self.file.modified_at, self.file.size):
            return "UNCHANGED_MTIME"
        self._reach("fetch", "before")
        return "UNCHANGED_HASH" if last and last.sha256 == self.file.sha256 else None

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
