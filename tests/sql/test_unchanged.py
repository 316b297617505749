"""A file that does not change: what ages, what counts as seen again, and who hears of a shelf that runs empty."""

import pytest

from db.clock import Clock
from db.enums import UnchangedPolicy
from tasks.catalogue import switches
from tasks.catalogue.registry import Actor
from tasks.catalogue.watch import announce_expiring
from tests.mill import after, row
from tests.plain import PlainMill


@pytest.fixture
def shop(conn, tmp_path, monkeypatch):
    """A feed that is not on file yet."""
    monkeypatch.setenv("FEEDMILL_TEST_CLOCK", "1")
    return PlainMill(conn, tmp_path / "catalog.csv")


def rows(*numbers, **cells):
    return [row(number, **cells) for number in numbers]


@pytest.mark.spec("002 9.6")
def test_unchanged_file_ages_by_default(shop):
    shop.put_on_file()
    shop.deliver(*rows(1, 2))
    shop.run(at=after(0))
    skipped = shop.run(at=after(47))
    assert (skipped["skipped_reason"], skipped["promotion_seq"]) == ("UNCHANGED_MTIME", None)
    assert [len(shop.offers(after(hour))) for hour in (47, 48, 49)] == [2, 2, 0]


@pytest.mark.spec("002 9.6")
def test_unchanged_file_that_refreshes_counts_as_seen_again(shop):
    shop.put_on_file(unchanged_policy=UnchangedPolicy.REFRESH)
    shop.deliver(*rows(1, 2))
    shop.run(at=after(0))
    skipped = shop.run(at=after(47))
    assert (skipped["skipped_reason"], skipped["promotion_seq"], skipped["prices_written"]) == (
        "UNCHANGED_MTIME",
        2,
        None,
    )
    assert [len(shop.offers(after(hour))) for hour in (49, 95, 96)] == [2, 2, 0]
    assert shop.prices(1) == [("10.00", True, "new", True)]  # no heartbeat
    seen = shop.conn.execute("SELECT count(*) AS n FROM source_product_seen WHERE run_id = %s", [skipped["id"]])
    assert seen.fetchone()["n"] == 2


def test_refresh_repeats_what_is_on_the_shelf_and_not_what_waits(shop):
    shop.put_on_file(unchanged_policy=UnchangedPolicy.REFRESH)
    shop.deliver(*rows(*range(1, 41)))
    shop.run(at=after(0))
    shop.deliver(*rows(*range(1, 11)))
    assert shop.run(at=after(1))["expiry_blocked"]
    assert shop.run(at=after(2))["promotion_seq"] is None
    assert len(shop.conn.execute("SELECT FROM promotions").fetchall()) == 1


def test_refresh_before_the_first_promotion_promotes_nothing(shop):
    shop.put_on_file(unchanged_policy=UnchangedPolicy.REFRESH)
    shop.deliver(*[row(number, item="", sku="") for number in (1, 2, 3)])  # blocked: nothing but addresses
    assert shop.run(at=after(0))["expiry_blocked"]
    assert shop.run(at=after(1))["promotion_seq"] is None
    assert shop.offers(after(1)) == {}


def expiring(shop, hour):
    announce_expiring(shop.conn, after(hour))
    return [(event["fields"]["cause"], event["fields"]["expires_at"][:13]) for event in shop.events("FEED_EXPIRING")]


@pytest.mark.spec("002 17.13")
def test_a_shelf_that_runs_empty_is_announced_once_and_in_time(shop):
    shop.put_on_file()
    shop.deliver(*rows(1))
    shop.run(at=after(0))
    assert expiring(shop, 35.9) == []
    told = [("not run", "2026-03-04T12")]
    assert expiring(shop, 36) == told
    assert expiring(shop, 40) == told
    shop.deliver(*rows(1, 2))
    shop.run(at=after(41))
    assert expiring(shop, 76) == told
    assert expiring(shop, 77) == [*told, ("not run", "2026-03-06T05")]


def test_an_empty_shelf_is_nothing_to_announce(shop):
    shop.put_on_file()
    assert expiring(shop, 1000) == []


def paused(shop):
    switches.turn(shop.conn, shop.key, switches.PAUSE, Actor("test", Clock(after(20))))


def unchanged(shop):
    shop.run(at=after(20))


def failing(shop):
    shop.path.unlink()
    shop.fail(at=after(20))


def blocked(shop):
    shop.deliver(*rows(*range(1, 11)))
    shop.run(at=after(20))


CAUSES = {"paused": paused, "unchanged": unchanged, "failing": failing, "blocked": blocked}


@pytest.mark.parametrize("cause", CAUSES)
def test_the_cause_is_told(shop, cause):
    shop.put_on_file()
    shop.deliver(*rows(*range(1, 41)))
    shop.run(at=after(0))
    CAUSES[cause](shop)
    assert [told for told, _ in expiring(shop, 40)] == [cause]
