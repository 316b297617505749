"""The command line: parse, call, print. It decides nothing."""

from feedmill import stopping  # noqa: F401 - before all that takes time

# isort: split
import os
import sys

import click

from feedmill import contract
from feedmill.commands import database, demo, feeds, key, ledger, plans, runs, shelf, trial


@click.group(cls=contract.Group)
@click.version_option(package_name="feedmill")
def app() -> None:
    """feedmill keeps a catalogue true.

    It fetches product feeds on schedule, works out what changed, appends prices to a history that is never rewritten,
    and shows a new state only if it looks sane; otherwise it waits for a person.
    """


app.add_command(database.db)
app.add_command(feeds.feeds)
feeds.feeds.add_command(trial.try_)
app.add_command(key.key)
for command in (
    demo.demo,
    runs.run,
    runs.runs,
    runs.run_show,
    runs.errors,
    runs.approve,
    runs.reject,
    shelf.offers,
    shelf.prices,
    ledger.request,
    ledger.dispatch,
    plans.plan,
    plans.replay,
    plans.diff,
    plans.cleanup,
):
    app.add_command(command)


def main() -> None:
    # Before anything imports Prefect: it reports a first use to its makers, and logs to the terminal what belongs in
    # its own pages. What a person must know, feedmill says itself.
    os.environ.setdefault("DO_NOT_TRACK", "1")
    if "--debug" not in sys.argv:
        os.environ.setdefault("PREFECT_LOGGING_HANDLERS_CONSOLE_LEVEL", "CRITICAL")
        os.environ.setdefault("PREFECT_INTERNAL_LOGGING_LEVEL", "CRITICAL")
    sys.exit(contract.run(app, sys.argv[1:]))
