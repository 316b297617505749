"""What the gates count in Postgres and what they count from frames is the same, on ordinary days and bad files."""

from itertools import islice

import pytest

from db import shelf
from feedmill.simulator.faults import write_faulty
from feedmill.simulator.files import write_csv
from feedmill.simulator.weeks import make_shop, ordinary_weeks
from tasks.catalogue import breaker
from tasks.catalogue.breaker import Counts, OfferChanges
from tasks.catalogue.offer_changes import counts_of
from tasks.catalogue.parse import Limits
from tasks.catalogue.shelf.steps import settle
from tasks.catalogue.survey import survey_file
from tests.mill import after, touch
from tests.plain import PlainMill

SHOP = next(shop for shop in map(make_shop, range(1, 100)) if 100 <= shop.size <= 200 and shop.wildness > 0.8)
EVERY_DAYS = 6
FAULTS = ("cents_for_units", "units_for_cents", "wrong_currency", "all_out_of_stock", "some_cents_for_units",
          "truncated", "wrong_retailer", "ids_lost")  # fmt: skip


@pytest.fixture
def mill(conn, tmp_path, monkeypatch):
    monkeypatch.setenv("FEEDMILL_TEST_CLOCK", "1")
    return PlainMill(conn, tmp_path / "catalog.csv").put_on_file()


def counted_in_postgres(run, seen):
    with run.conn.transaction(force_rollback=True):
        shelf.create_moves(run.conn, seen)
        found = shelf.count_moves(run.conn, seen)
        changes = shelf.count_offer_changes(run.conn, seen, factors=breaker.FACTORS, near=breaker.NEAR)
    return Counts(
        found.on_shelf, found.seen, found.products_upserted, found.url_hash_fallback_count, OfferChanges(**changes)
    )


def test_frames_and_postgres_count_the_same(mill):
    """A file every six days of twelve weeks; after each a bad one, which mostly waits and leaves its prices behind."""
    shown, hour, differences, blocked = None, 0, [], 0
    for number, catalogue in enumerate(islice(ordinary_weeks(SHOP, 12), 0, None, EVERY_DAYS)):
        for fault in (None, FAULTS[number % len(FAULTS)]):
            write_faulty(fault, catalogue, mill.path) if fault else write_csv(catalogue, mill.path)
            touch(mill.path)
            file = survey_file(mill.path, Limits(max_rows=10_000, max_bytes=10_000_000)).products
            hour += 1
            with mill.loaded(at=after(hour)) as (run, seen):
                shown = file.clear() if shown is None else shown
                found = counted_in_postgres(run, seen), counts_of(shown, file)
                settle.fn(run, seen)
            differences += [(catalogue.day, fault, *found)] if found[0] != found[1] else []
            is_promoted = mill.newest_run()["promotion_seq"] is not None
            shown = file if is_promoted else shown
            blocked += not is_promoted
    assert differences == []
    assert hour - blocked > 10 < blocked
