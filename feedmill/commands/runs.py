"""`feedmill run`, `runs`, `run-show`, `errors`, `approve`, `reject`: runs, and decisions on them."""

import click

from db.clock import named_clock
from feedmill import documents, evidence_views, reading, running, views
from feedmill.commands.feeds import COUNT, at_option, key_argument
from feedmill.contract import BLOCKED, FAILED, Command, Reply
from tasks.catalogue import approval, registry


@click.command(cls=Command)
@key_argument
@click.option("--force", is_flag=True, help="Read the file even if it is the one that was processed last")
@click.option("--plan", metavar="DIGEST", help="Only if file and shelf still give the plan of this digest")
@at_option
def run(key: str, *, force: bool, plan: str | None, at: str | None) -> Reply:
    """Run one feed now, here, and print the record of the run.

    Fetches the file, writes what changed, puts it on the shelf if every gate agrees. An unchanged file is skipped
    (--force and --plan read it). Exits 3 if the run has to wait for a person, 75 if a run of the feed is under way.
    """
    record, error = running.run_now(key, clock=named_clock(at), force=force, plan=plan)
    document = documents.run(record)
    return Reply(document, views.run_card(document), exit_code_of(document), error)


def exit_code_of(run: documents.Document) -> int:
    if run["status"] == "FAILED":
        return FAILED
    return BLOCKED if approval.waits(run) else 0


@click.command(cls=Command)
@click.argument("key", required=False)
@click.option("--limit", type=COUNT, default=20, show_default=True, help="How many")
@click.option("--tenant", default="default", show_default=True, help="Whose runs, if no feed is named")
def runs(key: str | None, limit: int, tenant: str) -> Reply:
    """List runs, newest first, of one feed or of all."""
    found = reading.runs(key, limit=limit, tenant=tenant)
    return Reply(found, views.run_table(found))


@click.command("run-show", cls=Command)
@click.argument("run_id", metavar="RUN")
def run_show(run_id: str) -> Reply:
    """Show one run: what it read, what it wrote, how it ended; of one that waits, the evidence to decide on it."""
    found, evidence = reading.run(run_id), reading.evidence(run_id)
    return Reply({**found, "evidence": evidence}, evidence_views.run_report(found, evidence))


@click.command(cls=Command)
@click.argument("run_id", metavar="RUN")
def errors(run_id: str) -> Reply:
    """Show samples of the rows that a run rejected or found twice, by code."""
    found = reading.errors(run_id)
    return Reply(found, views.error_table(found))


@click.command(cls=Command)
@click.argument("run_id", metavar="RUN")
@click.option("--by", required=True, metavar="NAME", help="Who approves")
@at_option
def approve(run_id: str, by: str, at: str | None) -> Reply:
    """Put on the shelf what a blocked run saw, as of now.

    Look at the evidence first: feedmill run-show RUN. Refused if a newer run has processed a file, and if the run was
    decided already. Exits 75 if a run of the feed is under way.
    """
    decision = approval.approve(reading.run_id_of(run_id), registry.Actor(by, named_clock(at)))
    document = {**documents.run(decision.run), "products_promoted": decision.products_promoted}
    return Reply(document, views.run_card(document))


@click.command(cls=Command)
@click.argument("run_id", metavar="RUN")
@click.option("--by", required=True, metavar="NAME", help="Who rejects")
@click.option("--reason", required=True, metavar="TEXT", help="Why, for those who ask later")
@at_option
def reject(run_id: str, by: str, reason: str, *, at: str | None) -> Reply:
    """Keep off the shelf, for good, what a blocked run saw. Its file still counts as processed."""
    decision = approval.reject(reading.run_id_of(run_id), reason, registry.Actor(by, named_clock(at)))
    document = documents.run(decision.run)
    return Reply(document, views.run_card(document))
