"""One tick of the dispatcher: reap the dead, queue what is due or asked for, hand out what is queued."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Protocol
from uuid import UUID

from db import jobs
from db.clock import Clock
from db.engine import Connection, Row, transaction
from tasks import ledger, progress
from tasks.exclusive import worker_instance
from tasks.ledger import Lost, Policies

SUBMIT_BATCH = 100
UNANSWERED = timedelta(seconds=60)  # a submission whose flow run is still unknown after this never reached Prefect
QUIET = timedelta(minutes=5)  # without a tick for so long, somebody should look


class Submitter(Protocol):
    """Who carries out a queued job: a Prefect server, or this process."""

    def submit(self, job: Row) -> UUID | None:
        """The flow run that will carry it out; None if it has been carried out already."""
        ...

    def is_lost(self, job: Row) -> bool:
        """Whether the flow run of a job that is still queued came to nothing."""
        ...


Watch = Callable[[Connection, datetime], int]  # what a pipeline looks after at every tick; how much it found


@dataclass(frozen=True)
class Tick:
    """What a tick did."""

    reaped: int
    claimed: int
    submitted: int
    finished: int


def tick(
    conn: Connection,
    submitter: Submitter,
    policies: Policies,
    *,
    clock: Clock,
    lost: Lost | None = None,
    watches: Sequence[Watch] = (),
) -> Tick:
    """Any number of dispatchers may do this at once."""
    now = clock.now()
    reaped = ledger.reap(conn, policies, now=now, lost=lost)
    ledger.retry_due(conn, now=now)
    claimed = ledger.enqueue_requests(conn, now=now) + ledger.claim_due(conn, now=now)
    take_back(conn, submitter, now=now)
    submitted, finished = hand_out(conn, submitter, now=now)
    for watch in watches:
        watch(conn, now)
    with transaction(conn):
        jobs.upsert_tick(conn, now=now, worker_instance=worker_instance())
    return Tick(reaped, claimed, submitted, finished)


def take_back(conn: Connection, submitter: Submitter, *, now: datetime) -> int:
    """Jobs whose flow run came to nothing are free to be handed out again; how many."""
    taken = 0
    for job in jobs.select_submitted_jobs(conn):
        never_arrived = job["flow_run_id"] is None and now - job["submitted_at"] >= UNANSWERED
        if never_arrived or (job["flow_run_id"] is not None and submitter.is_lost(job)):
            taken += jobs.mark_unsubmitted(conn, job["id"], submission=job["submission"], now=now)
    return taken


def hand_out(conn: Connection, submitter: Submitter, *, now: datetime) -> tuple[int, int]:
    """Submit what nobody has submitted; how many were handed to Prefect, and how many carried out here."""
    submitted = finished = 0
    while batch := jobs.mark_submissions(conn, now=now, limit=SUBMIT_BATCH):
        for job in batch:
            try:
                flow_run_id = submitter.submit(job)
            except Exception as error:  # noqa: BLE001 - a later tick hands it out again; the others must not wait for it
                progress.tell(f"{job['key']} could not be handed out: {error}")
                continue
            if flow_run_id is None:
                finished += 1
            else:
                jobs.mark_flow_run(conn, job["id"], submission=job["submission"], flow_run_id=flow_run_id)
                submitted += 1
    return submitted, finished


def warning(conn: Connection, *, now: datetime) -> str | None:
    """What an operator should know of a dispatcher that does not come."""
    state = jobs.select_overdue(conn, now=now)
    if state["oldest_slot"] is None or now - state["oldest_slot"] < QUIET:
        return None
    last = state["ticked_at"]
    if last is not None and now - last < QUIET:
        return None
    return f"no dispatch for {_minutes(now - last)}" if last else "runs are due, and no dispatch has ever come"


def _minutes(span: timedelta) -> str:
    return f"{int(span.total_seconds() // 60)} minutes"
