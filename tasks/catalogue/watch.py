"""What is looked after at every tick, whether a feed runs or not: a shelf that will run empty."""

from datetime import datetime

from db import shelf
from db.engine import Connection, transaction
from tasks.catalogue.registry import note

ACTOR = "dispatcher"


def announce_expiring(conn: Connection, now: datetime) -> int:
    """One FEED_EXPIRING per feed and promotion, well before its offers are gone, whatever the cause; how many."""
    with transaction(conn):
        expiring = shelf.select_expiring(conn, now=now)
        for feed in expiring:
            told = {"expires_at": feed["expires_at"].isoformat(), "cause": feed["cause"]}
            note(conn, feed, ACTOR, "FEED_EXPIRING", at=now, **told)
    return len(expiring)
