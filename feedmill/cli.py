"""The command line: parse, call, print. It decides nothing."""

import sys

import click

from feedmill import contract
from feedmill.commands import database, feeds, runs, shelf


@click.group(cls=contract.Group)
@click.version_option(package_name="feedmill")
def app() -> None:
    """feedmill keeps a catalogue true.

    It fetches product feeds on schedule, works out what changed, appends prices to a history that is never rewritten,
    and shows a new state only if it looks sane; otherwise it waits for a person.
    """


app.add_command(database.db)
app.add_command(feeds.feeds)
for command in (runs.run, runs.runs, runs.run_show, runs.errors, shelf.offers, shelf.prices):
    app.add_command(command)


def main() -> None:
    sys.exit(contract.run(app, sys.argv[1:]))
