"""The end of a catalogue run: what it saw is judged, and goes on the shelf or waits for a person."""

import time
from datetime import datetime
from typing import Any

from prefect import task
from prefect.logging import get_run_logger

from db import catalogue, feeds, ledger, shelf
from db.catalogue import Observation
from db.engine import transaction
from db.enums import Recovery, Stage
from db.errors import ConnectionLostError
from tasks import exclusive, policy, progress
from tasks.catalogue import breaker
from tasks.catalogue.breaker import Counts, Limits, OfferChanges, Reason
from tasks.errors import classify
from tasks.exclusive import LockLostError
from tasks.run import Run
from tasks.steps import live_task_options, may_try_again

_LIVE = live_task_options(policy.CATALOGUE)


@task(name="settle", **_LIVE)
def settle(run: Run, seen: Observation) -> None:
    """Judge what the run saw, put it on the shelf or let it wait, and close the run, in one transaction.

    If that fails, the run is closed as one that a person may approve: its file is written, nothing is lost.
    """
    run.enter(Stage.SUMMARY)
    at = max(run.now(), seen.observed_at)
    try:
        with transaction(run.conn):
            _judge(run, seen, at=at)
            _close(run, at=at, is_judged=True)
    except (ConnectionLostError, LockLostError):
        raise  # another may hold the lock by now: this run may not write
    except Exception as error:
        if classify(error) is Recovery.TRANSIENT and may_try_again(policy.CATALOGUE):
            raise
        _give_up(run, error, at=at)
    run.is_closed = True


def _judge(run: Run, seen: Observation, *, at: datetime) -> None:
    feed = run.target.details
    run.note("CIRCUIT_BREAKER_START", at=at, feed_id=feed["id"], t0=str(at), expiry_hours=feed["expiry_hours"])
    shelf.create_moves(run.conn, seen)
    found = shelf.count_moves(run.conn, seen)
    changes = _changes(run, seen, found)
    counts = Counts(found.on_shelf, found.seen, found.products_upserted, found.url_hash_fallback_count, changes)
    limits = breaker.limits_of(feed["gates"])
    reasons = breaker.judge(counts, limits)
    _note_verdict(run, counts, limits=limits, reasons=reasons, at=at)
    shelf.fold(run.conn, seen)
    seq = None if reasons else _promote(run, seen, found=found, at=at)
    verdict = shelf.Verdict(seq, tuple(reason.document() for reason in reasons))
    shelf.mark_judged(run.conn, run.id, found, verdict, would_expire=counts.would_expire)
    codes = ",".join(reason.code for reason in reasons)
    logger = get_run_logger()
    logger.info("judged run_id=%s would_expire=%s blocked=%s", run.id, counts.would_expire, codes or "no")


def _changes(run: Run, seen: Observation, found: shelf.ShelfCounts) -> OfferChanges:
    """An empty shelf shows nothing to compare with: a first file would be looked up product by product for nothing."""
    if found.on_shelf == 0:
        return OfferChanges()
    return OfferChanges(**shelf.count_offer_changes(run.conn, seen, factors=breaker.FACTORS, near=breaker.NEAR))


def _promote(run: Run, seen: Observation, *, found: shelf.ShelfCounts, at: datetime) -> int:
    began = time.monotonic()
    run.note("PROMOTE_START", at=at, products_to_promote=found.promoted)
    seq = shelf.promote(run.conn, seen, promoted_at=at)
    run.note(
        "PROMOTE_COMPLETE",
        at=at,
        promote_rows_updated=found.entering + found.leaving,
        products_expired=found.leaving,
        duration_ms=round((time.monotonic() - began) * 1000),
    )
    return seq


def _note_verdict(
    run: Run, counts: Counts, *, limits: dict[str, Limits], reasons: tuple[Reason, ...], at: datetime
) -> None:
    expiring: dict[str, Any] = {"would_expire_count": counts.would_expire, "expire_percent": counts.share}
    expiring |= breaker.thresholds(limits.get("spike"))
    if counts.raw_would_expire < 0:
        found = {"active_count_before": counts.on_shelf, "seen_success_count": counts.seen}
        run.note("CIRCUIT_BREAKER_NEGATIVE_EXPIRE_COUNT", at=at, raw_expire_count=counts.raw_would_expire, **found)
    if not reasons:
        run.note("CIRCUIT_BREAKER_PASSED", at=at, **expiring)
    for reason in reasons:
        if reason.code == "DATA_QUALITY_URL_HASH_SPIKE":
            run.note("DATA_QUALITY_URL_HASH_SPIKE", at=at, **reason.figures)
        elif reason.code == "SPIKE_THRESHOLD_EXCEEDED":
            run.note("CIRCUIT_BREAKER_TRIPPED", at=at, reason=reason.code, **expiring)
        else:
            run.note("CIRCUIT_BREAKER_TRIPPED", at=at, reason=reason.code, **{**expiring, **reason.figures})


def _close(run: Run, *, at: datetime, is_judged: bool) -> None:
    """The feed's own rows last, and the schedule first of them, as an edit of the feed takes them: nobody waits long.

    After a run that was not judged no file is remembered, not even the one before: the next run reads what is there and
    heals by itself. Else the file before, delivered again after an approval, would count as unchanged.
    """
    ledger.lock_schedule(run.conn, run.key.pipeline, run.key.key)
    if is_judged:
        catalogue.mark_last_file(run.conn, run.id)
    else:
        catalogue.clear_last_file(run.conn, run.id)
    feeds.mark_stamp(run.conn, run.target.details["source_id"], at)
    exclusive.succeed(run, at=at)


def _give_up(run: Run, error: Exception, *, at: datetime) -> None:
    get_run_logger().error("phase two failed run_id=%s: %s", run.id, error)
    progress.tell(f"the file is written, but it could not be put on the shelf: {error}")
    with transaction(run.conn):
        shelf.mark_step_failed(run.conn, run.id)
        run.note("EXPIRY_STEP_FAILED", at=at, feed_id=run.target.details["id"], error=str(error))
        _close(run, at=at, is_judged=False)
