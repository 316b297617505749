"""`feedmill request` and `dispatch`: asking for a run, and one tick of the dispatcher."""

from contextlib import ExitStack
from dataclasses import asdict
from typing import TYPE_CHECKING

import click

from db import engine
from db.clock import Clock, named_clock
from feedmill import prefect_api, running
from feedmill.commands.feeds import actor, at_option, key_argument
from feedmill.contract import Command, Reply
from tasks import exclusive, ledger
from tasks.catalogue import registry

if TYPE_CHECKING:
    from tasks.dispatch import Submitter


@click.command(cls=Command)
@key_argument
@at_option
def request(key: str, at: str | None) -> Reply:
    """Ask for a run: the dispatcher queues it, after the run under way if there is one.

    Asking twice asks once. A request during a run that fails is not repeated by itself.
    """
    by = actor(at)
    with engine.connect() as conn:
        feed = registry.find_feed(conn, key)
        exclusive.refuse_unless_enabled(exclusive.find_schedule(conn, registry.PIPELINE, key))
        moment = registry.stamp(conn, feed, by)
        requested_at = ledger.request(conn, registry.key_of(feed), by=by.name, now=moment)
    return Reply({"key": key, "requested_at": requested_at}, f"{key}: run queued, the next dispatch starts it")


@click.command(cls=Command)
@click.option("--startup", is_flag=True, help="The recovery of a worker that starts: what ran here is gone")
@at_option
def dispatch(*, startup: bool, at: str | None) -> Reply:
    """Do one tick: reap the dead, queue what is due or asked for, and start it.

    With a Prefect server (PREFECT_API_URL) each job becomes a flow run there. Without one, the jobs run here, one by
    one. Any number of dispatchers may run at once.
    """
    from tasks.dispatch import tick  # noqa: PLC0415 - with Prefect, which takes a second to import
    from tasks.pipelines import POLICIES, WATCHES  # noqa: PLC0415

    clock = named_clock(at)
    lost = ledger.Lost(ledger.STARTUP_RECOVERY, at_startup=True) if startup else None
    with ExitStack() as stack:
        conn = stack.enter_context(engine.connect())
        stack.enter_context(running.progress_bars())
        done = asdict(tick(conn, _submitter(stack, clock), POLICIES, clock=clock, lost=lost, watches=WATCHES))
    counts = ", ".join(f"{count:,} {name}" for name, count in done.items())
    return Reply(done, counts)


def _submitter(stack: ExitStack, clock: Clock) -> "Submitter":
    """The team's server, or this process with a server of its own that starts with the first job."""
    from tasks.submitters import LocalSubmitter, ServerSubmitter  # noqa: PLC0415

    if prefect_api.configured_url():
        from prefect.client.orchestration import get_client  # noqa: PLC0415

        return ServerSubmitter(stack.enter_context(get_client(sync_client=True)))

    return LocalSubmitter(clock, before_first=lambda: stack.enter_context(prefect_api.prefect_api()))
