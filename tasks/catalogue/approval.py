"""A person's word on a run that waits: approve it, and it goes on the shelf; reject it, and it never will."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from db import catalogue, feeds, offers, shelf
from db.catalogue import Observation
from db.engine import Connection, Row, connect, transaction
from db.enums import CatalogueRunStatus
from db.errors import BadRequestError, RefusedError
from tasks import policy
from tasks.catalogue.config import valid_name
from tasks.catalogue.registry import PIPELINE, Actor, find_feed, hold_feed, note
from tasks.exclusive import LockLostError, exclusive_session


@dataclass(frozen=True)
class Decision:
    """What was decided on a run: its record afterwards, and the products that went on the shelf."""

    run: Row
    products_promoted: int = 0


def approve(run_id: UUID, actor: Actor) -> Decision:
    """Put a run that waits on the shelf, as of now. Refuses any other run, a stale one, and a busy feed."""
    with _undecided(run_id, actor) as (conn, feed, run, at):
        seen = Observation(run["source_id"], run_id, run["obs_seq"], run["observed_at"])
        shelf.create_moves(conn, seen)
        counts = shelf.count_moves(conn, seen)
        seq = shelf.promote(conn, seen, promoted_at=at)
        _refuse_unless(shelf.mark_approved(conn, run_id, counts, seq=seq, by=actor.name, at=at))
        fields = {"approved_by": actor.name, "products_promoted": counts.promoted}
        note(conn, feed, actor.name, "ACTIVATION_APPROVED", at=at, run_id=run_id, **fields)
        return Decision(_run(conn, run_id), counts.promoted)


def reject(run_id: UUID, reason: str, actor: Actor) -> Decision:
    """Decide that a run that waits never goes on the shelf. Refuses what `approve` refuses."""
    reason = valid_name(reason, "reason")
    with _undecided(run_id, actor) as (conn, feed, _run_before, at):
        _refuse_unless(shelf.mark_rejected(conn, run_id, by=actor.name, reason=reason, at=at))
        fields = {"rejected_by": actor.name, "reason": reason}
        note(conn, feed, actor.name, "ACTIVATION_APPROVAL_REJECTED", at=at, run_id=run_id, **fields)
        return Decision(_run(conn, run_id))


@contextmanager
def _undecided(run_id: UUID, actor: Actor) -> Iterator[tuple[Connection, Row, Row, datetime]]:
    """A transaction under the lock of the run's feed, in which the run is known to wait for a decision."""
    valid_name(actor.name, "name")
    with connect() as conn:
        feed = find_feed(conn, _run(conn, run_id)["feed_key"])
    now = actor.clock.stamp(feed["last_stamp_at"])
    with exclusive_session(PIPELINE, feed["feed_key"], policy.CATALOGUE, now=now) as conn:
        try:
            with transaction(conn):
                feed = find_feed(conn, feed["feed_key"])
                at = actor.clock.stamp(feed["last_stamp_at"])
                run = _run(conn, run_id)
                refuse_unless_waiting(run, newer=offers.select_newer_run(conn, run["tenant_id"], run_id))
                yield conn, feed, run, at
                hold_feed(conn, feed["feed_key"])  # last, so that nobody waits for the promotion
                feeds.mark_stamp(conn, feed["source_id"], at)
        except RefusedError as refused:
            with transaction(conn):
                fields = {"reason": refused.code, "asked_by": actor.name}
                note(conn, feed, actor.name, "ACTIVATION_APPROVAL_REJECTED", at=now, run_id=run_id, **fields)
            raise


def _refuse_unless(is_ours: bool) -> None:
    """Under the lock nobody else decides; if the row says otherwise, the lock did not hold."""
    if not is_ours:
        message = "the run was decided by somebody else"
        raise LockLostError(message)


def _run(conn: Connection, run_id: UUID) -> Row:
    tenant_id = catalogue.select_tenant_of_run(conn, run_id)
    run = catalogue.select_run(conn, tenant_id, run_id) if tenant_id else None
    if run is None:
        message = f"there is no run {str(run_id)!r}"
        raise BadRequestError(message, code="RUN_NOT_FOUND", hint="see the runs with: feedmill runs")
    return run


def refuse_unless_waiting(run: Mapping[str, Any], *, newer: UUID | None) -> None:
    """Refuse a run that did not succeed, was not held back, is decided, or is older than one that processed a file."""
    broken = _broken_rule(run, newer)
    if broken is not None:
        code, message = broken
        raise RefusedError(message, code=code, hint=f"see it with: feedmill run-show {run['id']}")


def _broken_rule(run: Mapping[str, Any], newer: UUID | None) -> tuple[str, str] | None:
    if run["status"] != CatalogueRunStatus.SUCCEEDED:
        return "RUN_NOT_SUCCEEDED", f"this run is {run['status'].lower()}; only one that succeeded can be decided on"
    if not waits(run):
        return "NOT_BLOCKED", "nothing held this run back, so there is nothing to decide"
    if run["expiry_approved_at"] is not None:
        return "ALREADY_APPROVED", f"this run was approved by {run['expiry_approved_by']}"
    if run["expiry_rejected_at"] is not None:
        return "ALREADY_REJECTED", f"this run was rejected by {run['expiry_rejected_by']}"
    if newer is not None:
        return "STALE_RUN", "A newer run has completed. This run's activation is no longer relevant."
    return None


def waits(run: Mapping[str, Any]) -> bool:
    """Whether a gate or a failure of phase two kept the run off the shelf; it says so after a decision too."""
    return bool(run["expiry_blocked"] or run["expiry_step_failed"])
