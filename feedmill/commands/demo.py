"""`feedmill demo`: the main job end to end."""

import sys

import click

from feedmill import streams
from feedmill.contract import Command, Reply, out


@click.command(cls=Command)
@click.option("--keep", is_flag=True, help="Leave the demo's folder and database for you to look at")
def demo(*, keep: bool) -> Reply:
    """Play the main job end to end, in a folder of its own.

    A local SFTP server delivers a catalogue of 5,000 products on day one, another on day two, the same again, and
    three that are held back and shown with their evidence: prices times 100 and nothing in stock, both rejected, and
    one that lost most of its rows, approved. Each run goes through a Prefect flow into an embedded Postgres. Nothing
    is left running.
    """
    from feedmill import demo as stage  # noqa: PLC0415 - brings the simulator and an SFTP server

    console = streams.Paper(stderr=True, highlight=False) if "--json" in sys.argv else out()
    return Reply(stage.play(console, keep=keep), "")
