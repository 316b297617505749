"""`feedmill offers` and `prices`: what is on the shelf, and how it came there."""

import click

from db.clock import parse_moment
from feedmill import reading, views
from feedmill.commands.feeds import COUNT, key_argument
from feedmill.contract import Command, Reply


@click.command(cls=Command)
@click.argument("key", required=False)
@click.option("--at", metavar="TIME", help="The offers of this moment, ISO 8601 UTC  [now]")
@click.option("--limit", type=COUNT, help="At most so many  [all]")
@click.option(
    "--after",
    type=click.IntRange(-(2**63), 2**63 - 1),
    default=0,
    metavar="ID",
    help="Only those with a greater id: the next page",
)
@click.option("--tenant", default="default", show_default=True, help="Whose offers, if no feed is named")
def offers(key: str | None, at: str | None, limit: int | None, *, after: int, tenant: str) -> Reply:
    """Show what a shopper may see, ordered by id.

    \b
    For example, page by page:
      feedmill offers northfork --limit 100
      feedmill offers northfork --limit 100 --after 4711
    """
    moment = parse_moment(at) if at else None
    found = reading.offers(key, at=moment, limit=limit, after=after, tenant=tenant)
    return Reply(found, views.offer_table(found))


@click.command(cls=Command)
@key_argument
@click.argument("identity")
def prices(key: str, identity: str) -> Reply:
    """Show the price history of one product.

    IDENTITY is item:X, sku:X, url:HASH, or a bare value that only one product has.
    """
    found = reading.prices(key, identity)
    return Reply(found, views.price_table(found))
