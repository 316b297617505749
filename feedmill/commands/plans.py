"""`feedmill plan`, `replay`, `diff`, `cleanup`: look before a run, go back to a file, see what runs changed."""

from dataclasses import asdict

import click

from db import engine
from db.clock import named_clock
from feedmill import csv_text, diff_views, differences, documents, plan_views, reading, running, views
from feedmill.commands.feeds import COUNT, at_option, key_argument
from feedmill.commands.runs import exit_code_of
from feedmill.contract import Command, Reply
from tasks.hints import naming


@click.command(cls=Command)
@key_argument
@click.option(
    "--sample", type=click.IntRange(0, COUNT.max), default=10, show_default=True, help="Products of each kind to show"
)
@at_option
def plan(key: str, sample: int, at: str | None) -> Reply:
    """Show what a run would do now, and write nothing.

    Fetches and reads the file whole, compares it with what there is, and tells what would come, change, go and come
    back, which prices would move, which rows would be rejected and which gates would trip. Exits 0 whatever they say.

    \b
    The digest at the end is for a run that does this and nothing else:
      feedmill run northfork --plan DIGEST
    """
    with naming(key), running.progress_bars():
        document = reading.plan(key, clock=named_clock(at), sample=sample)
    return Reply(document, plan_views.plan_report(document))


@click.command(cls=Command)
@click.argument("run_id", metavar="RUN")
@at_option
def replay(run_id: str, at: str | None) -> Reply:
    """Process the file of an earlier run once more, from the archive, as one more run.

    Every gate applies. Whatever is on the server now is not looked at; the run after this one reads it. Exits 1 if the
    file is not in the archive any more, 3 if the run has to wait for a person, 75 if a run of the feed is under way.
    """
    record, error = running.replay_now(reading.run_id_of(run_id), clock=named_clock(at))
    document = documents.run(record)
    return Reply(document, views.run_card(document), exit_code_of(document), error)


@click.command(cls=Command)
@click.argument("run_id", metavar="RUN")
@click.argument("other_id", metavar="[RUN]", required=False)
@click.option("--csv", "as_csv", is_flag=True, help="Print every product as CSV, safe to open in a spreadsheet")
@click.option("--limit", type=click.IntRange(1), default=50, show_default=True, help="Products in the table")
def diff(run_id: str, other_id: str | None, *, as_csv: bool, limit: int) -> Reply:
    """Show what a run changed on the shelf, or what lies between two runs of a feed.

    \b
    For example:
      feedmill diff RUN
      feedmill diff EARLIER LATER --csv > changes.csv
    """
    document = differences.diff(run_id, other_id)
    text = csv_text.written(differences.COLUMNS, document["products"]) if as_csv else None
    return Reply(document, diff_views.diff_report(document, limit=limit), text=text)


@click.command(cls=Command)
@at_option
def cleanup(at: str | None) -> Reply:
    """Remove what is kept no longer: archived files that no run has used for thirty days."""
    from tasks.catalogue import archive  # noqa: PLC0415 - brings the network

    with engine.connect() as conn:
        swept = archive.sweep_archive(conn, now=named_clock(at).now())
    document = {"archive": asdict(swept)}
    return Reply(document, f"archive: {swept.removed:,} files removed, {swept.kept:,} kept")
