"""`feedmill run`, `runs`, `run-show`, `errors`: starting a run and looking at runs."""

import click

from db.clock import named_clock
from feedmill import documents, reading, running, views
from feedmill.commands.feeds import at_option, key_argument
from feedmill.contract import FAILED, Command, Reply


@click.command(cls=Command)
@key_argument
@click.option("--force", is_flag=True, help="Read the file even if it is the one that was processed last")
@at_option
def run(key: str, *, force: bool, at: str | None) -> Reply:
    """Run one feed now, here, and print the record of the run.

    Fetches the file, writes what changed, puts it on the shelf. An unchanged file is skipped (--force reads it).
    Exits 75 if a run of the feed is under way.
    """
    record, error = running.run_now(key, clock=named_clock(at), force=force)
    document = documents.run(record)
    failed = FAILED if record["status"] == "FAILED" else 0
    return Reply(document, views.run_card(document), failed, error)


@click.command(cls=Command)
@click.argument("key", required=False)
@click.option("--limit", type=click.IntRange(1), default=20, show_default=True, help="How many")
@click.option("--tenant", default="default", show_default=True, help="Whose runs, if no feed is named")
def runs(key: str | None, limit: int, tenant: str) -> Reply:
    """List runs, newest first, of one feed or of all."""
    found = reading.runs(key, limit=limit, tenant=tenant)
    return Reply(found, views.run_table(found))


@click.command("run-show", cls=Command)
@click.argument("run_id", metavar="RUN")
def run_show(run_id: str) -> Reply:
    """Show one run: what it read, what it wrote, how it ended."""
    found = reading.run(run_id)
    return Reply(found, views.run_card(found))


@click.command(cls=Command)
@click.argument("run_id", metavar="RUN")
def errors(run_id: str) -> Reply:
    """Show samples of the rows that a run rejected or found twice, by code."""
    found = reading.errors(run_id)
    return Reply(found, views.error_table(found))
