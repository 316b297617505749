"""The end of a run in the reference: judged, promoted, held back, skipped; and what a person decides later."""

from dataclasses import dataclass, field
from datetime import datetime

from tests.model.books import Books, RefusedError
from tests.model.history import Fault
from tests.model.rows import RunRow, attributes_of

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
class PhaseTwo(Books):
    """What shows, and when."""

    faults: list[Fault] = field(default_factory=list)

    def _reach(self, place: str, when: str, batch: int = 1) -> None:
        """Come to a place where something may go wrong."""
        if self.faults and self.faults[0] == Fault(self.faults[0].kind, place, batch, when):
            raise _KINDS[self.faults.pop(0).kind]

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
