"""What the views tell of small histories written by hand: presence, who saw what, the shelf and its prices."""

from datetime import timedelta
from decimal import Decimal
from random import Random

import pytest

from db.ids import new_id
from tests.builders import NOON, feed, insert, run

HOUR = timedelta(hours=1)
TICK = timedelta(microseconds=1)
DAY = 24 * HOUR
ENDED = {"status": "completed", "started_at": NOON, "finished_at": NOON}


class Shelf:
    """A source whose history a test writes step by step, as runs that keep the rules would have left it."""

    def __init__(self, conn, *, kind="AFFILIATE_FEED", retailer_id=None, primary=True, expiry_hours=48, at=NOON):
        self.conn = conn
        self.feed = feed(conn, source={"source_kind": kind}, retailer_id=retailer_id)
        self.source_id, self.retailer_id = self.feed["source_id"], self.feed["retailer_id"]
        self.settings, self.seq, self.obs, self.open = 0, 0, 0, {}
        self.setting(at, primary=primary, expiry_hours=expiry_hours)

    def setting(self, at, *, primary=True, expiry_hours=48, removed=False):
        self.settings += 1
        insert(self.conn, "setting_log", source_id=self.source_id, n=self.settings, at=at, expiry_hours=expiry_hours,
               is_display_primary=primary, is_removed=removed)  # fmt: skip

    def stamp(self, at):
        self.conn.execute("UPDATE sources SET last_stamp_at = %s WHERE id = %s", [at, self.source_id])

    def product(self, **columns):
        return insert(self.conn, "source_products", source_id=self.source_id, **columns)["id"]

    def observe(self, at, prices):
        """An attempt: its number. Prices may be None, for a product whose price did not change."""
        self.obs += 1
        for product, amount in prices.items():
            if amount is not None:
                insert(
                    self.conn, "prices", source_product_id=product, obs_seq=self.obs, price_amount=amount, created_at=at
                )
        return self.obs

    def sight(self, at, products, *, obs, batch=1, run_id=None):
        insert(self.conn, "sightings", source_id=self.source_id, obs_seq=obs, batch_no=batch, seen_at=at, run_id=run_id,
               product_ids=list(products))  # fmt: skip

    def promote(self, at, products, *, obs, observed_at=None, run_id=None):
        """Put exactly these products on the shelf."""
        for product in set(self.open) - set(products):
            self.conn.execute("UPDATE shelf_spans SET to_seq = %s WHERE product_id = %s AND to_seq IS NULL",
                              [self.seq, product])  # fmt: skip
            del self.open[product]
        self.seq += 1
        for product in set(products) - set(self.open):
            insert(self.conn, "shelf_spans", source_id=self.source_id, product_id=product, from_seq=self.seq)
            self.open[product] = self.seq
        insert(self.conn, "promotions", source_id=self.source_id, seq=self.seq, promoted_at=at,
               observed_at=observed_at or at, cutoff_obs=obs, run_id=run_id)  # fmt: skip

    def load(self, at, prices, **promotion):
        """A run that was promoted at once."""
        self.promote(at, prices, obs=self.observe(at, prices), **promotion)


@pytest.fixture
def shelf(any_conn):
    return Shelf(any_conn)


@pytest.fixture
def now(any_conn):
    """The database's now: the same throughout a test, which is one transaction."""
    return any_conn.execute("SELECT now() AS now").fetchone()["now"]


def presence(conn, product):
    """Last seen, and last seen with success."""
    rows = conn.execute("SELECT * FROM source_product_presence WHERE source_product_id = %s", [product]).fetchall()
    assert len(rows) == 1
    return rows[0]["last_seen_at"], rows[0]["last_seen_success_at"]


def seen(conn):
    return sorted(
        (row["run_id"], row["source_product_id"]) for row in conn.execute("SELECT * FROM source_product_seen")
    )


def offers(conn, at=None):
    """Price by product; a product that appears twice is a mistake."""
    rows = conn.execute("SELECT source_product_id, price FROM offers_at(%s::timestamptz)", [at]).fetchall()
    assert len({row["source_product_id"] for row in rows}) == len(rows)
    return {row["source_product_id"]: str(row["price"]) for row in rows}


def active_offers(conn):
    rows = conn.execute("SELECT source_product_id, price FROM active_offers").fetchall()
    return {row["source_product_id"]: str(row["price"]) for row in rows}


def current_prices(conn):
    rows = conn.execute("SELECT source_product_id, price FROM current_prices").fetchall()
    assert len({row["source_product_id"] for row in rows}) == len(rows)
    return {row["source_product_id"]: str(row["price"]) for row in rows}


@pytest.mark.spec("002 2.4", "002 2.7")
def test_presence_of_a_product_that_was_never_promoted_has_no_success(any_conn, shelf):
    product = shelf.product()
    shelf.load(NOON - HOUR, {shelf.product(): "1"})
    shelf.sight(NOON, [product], obs=shelf.observe(NOON, {product: "1"}))
    assert presence(any_conn, product) == (NOON, None)


@pytest.mark.spec("002 2.4")
def test_presence_of_a_product_on_the_shelf_is_that_of_the_newest_promotion(any_conn, shelf):
    product = shelf.product()
    for hour in range(3):
        shelf.load(NOON + hour * HOUR, {product: "1"})
    assert presence(any_conn, product) == (NOON + 2 * HOUR, NOON + 2 * HOUR)


@pytest.mark.spec("002 2.4")
def test_presence_of_an_approved_run_is_seen_then_and_promoted_later(any_conn, shelf):
    product = shelf.product()
    shelf.promote(NOON + 5 * HOUR, [product], obs=1, observed_at=NOON)
    assert presence(any_conn, product) == (NOON, NOON + 5 * HOUR)


@pytest.mark.spec("002 2.4")
def test_presence_of_a_vanished_product_is_that_of_its_last_promotion(any_conn, shelf):
    stays, leaves = shelf.product(), shelf.product()
    shelf.load(NOON, {stays: "1", leaves: "1"})
    shelf.load(NOON + HOUR, {stays: None, leaves: None})
    shelf.load(NOON + 2 * HOUR, {stays: None})
    assert presence(any_conn, leaves) == (NOON + HOUR, NOON + HOUR)
    assert presence(any_conn, stays) == (NOON + 2 * HOUR, NOON + 2 * HOUR)


@pytest.mark.spec("002 2.4")
def test_presence_of_a_returned_product_follows_its_new_span(any_conn, shelf):
    stays, returns = shelf.product(), shelf.product()
    shelf.load(NOON, {stays: "1", returns: "1"})
    shelf.load(NOON + HOUR, {stays: None})
    shelf.load(NOON + 2 * HOUR, {stays: None, returns: None})
    shelf.load(NOON + 3 * HOUR, {stays: None, returns: None})
    assert presence(any_conn, returns) == (NOON + 3 * HOUR, NOON + 3 * HOUR)
    shelf.load(NOON + 4 * HOUR, {stays: None})
    assert presence(any_conn, returns) == (NOON + 3 * HOUR, NOON + 3 * HOUR)


@pytest.mark.spec("002 2.4")
@pytest.mark.parametrize(
    "outside, last_seen",
    [
        pytest.param(NOON + 2 * HOUR, NOON + 2 * HOUR, id="after its last promotion"),
        pytest.param(NOON - HOUR, NOON, id="before it"),
    ],
)
def test_presence_counts_a_folded_sighting_as_seen_only(any_conn, shelf, outside, last_seen):
    product = shelf.product(seen_outside_at=outside)
    shelf.load(NOON, {product: "1"})
    assert presence(any_conn, product) == (last_seen, NOON)


@pytest.mark.spec("002 2.4", "002 2.7")
def test_presence_counts_the_newest_waiting_sighting_as_seen_only(any_conn, shelf):
    product, other = shelf.product(seen_outside_at=NOON - HOUR), shelf.product()
    shelf.load(NOON, {product: "1", other: "1"})
    for hour in (2, 1):
        obs = shelf.observe(NOON + hour * HOUR, {})
        shelf.sight(NOON + hour * HOUR, [product], obs=obs)
        shelf.sight(NOON + hour * HOUR, [], obs=obs, batch=2)
    assert presence(any_conn, product) == (NOON + 2 * HOUR, NOON)
    assert presence(any_conn, other) == (NOON, NOON)


def test_presence_does_not_mix_sources(any_conn, shelf):
    other = Shelf(any_conn)
    mine, theirs = shelf.product(), other.product()
    shelf.load(NOON, {mine: "1"})
    for hour in range(1, 4):
        other.load(NOON + hour * HOUR, {theirs: "1"})
    other.sight(NOON + 9 * HOUR, [theirs], obs=9)
    assert presence(any_conn, mine) == (NOON, NOON)


@pytest.mark.spec("002 2.5")
def test_seen_lists_the_products_of_each_promoted_run(any_conn, shelf):
    stays, leaves, returns = (shelf.product() for _ in range(3))
    sets = [[stays, leaves, returns], [stays], [stays, returns], [stays, returns]]
    runs = [run(any_conn, shelf.feed, **ENDED)["id"] for _ in sets]
    for hour, (made, products) in enumerate(zip(runs, sets, strict=True)):
        shelf.load(NOON + hour * HOUR, dict.fromkeys(products, "1"), run_id=made)
    expected = [(made, product) for made, products in zip(runs, sets, strict=True) for product in products]
    assert seen(any_conn) == sorted(expected)


@pytest.mark.spec("002 8.4", "002 2.5")
def test_seen_lists_waiting_sightings_of_every_batch(any_conn, shelf):
    first, second = shelf.product(), shelf.product()
    made = run(any_conn, shelf.feed, **ENDED)["id"]
    shelf.sight(NOON, [first], obs=1, run_id=made)
    shelf.sight(NOON, [second], obs=1, batch=2, run_id=made)
    assert seen(any_conn) == [(made, first), (made, second)]


@pytest.mark.spec("002 2.5")
def test_seen_says_when_and_has_an_id_per_run_and_product(any_conn, shelf):
    product, waiting = shelf.product(), shelf.product()
    promoted, blocked = run(any_conn, shelf.feed, **ENDED)["id"], run(any_conn, shelf.feed, **ENDED)["id"]
    shelf.promote(NOON + HOUR, [product], obs=1, observed_at=NOON, run_id=promoted)
    shelf.sight(NOON + 2 * HOUR, [product, waiting], obs=2, run_id=blocked)
    rows = any_conn.execute("SELECT * FROM source_product_seen").fetchall()
    assert {(row["run_id"], row["source_product_id"]): row["created_at"] for row in rows} == {
        (promoted, product): NOON,
        (blocked, product): NOON + 2 * HOUR,
        (blocked, waiting): NOON + 2 * HOUR,
    }
    assert len({row["id"] for row in rows}) == len(rows)


@pytest.mark.spec("002 2.5")
def test_seen_leaves_out_runs_that_no_longer_exist(any_conn, shelf):
    product = shelf.product()
    shelf.load(NOON, {product: "1"}, run_id=new_id())
    shelf.load(NOON + HOUR, {product: "1"})
    shelf.sight(NOON + 2 * HOUR, [product], obs=3, run_id=new_id())
    assert seen(any_conn) == []


@pytest.mark.spec("002 2.5")
def test_seen_does_not_mix_sources(any_conn, shelf):
    other = Shelf(any_conn)
    mine, theirs = shelf.product(), other.product()
    my_run, their_run = (run(any_conn, one.feed, **ENDED)["id"] for one in (shelf, other))
    shelf.load(NOON, {mine: "1"}, run_id=my_run)
    other.load(NOON, {theirs: "1"}, run_id=their_run)
    assert seen(any_conn) == sorted([(my_run, mine), (their_run, theirs)])


@pytest.mark.spec("002 2.5")
def test_seen_of_a_retried_run_is_that_of_its_final_attempt(any_conn, shelf):
    first, both, last = (shelf.product() for _ in range(3))
    made = run(any_conn, shelf.feed, **ENDED, figures={"obs_seq": 2})["id"]
    shelf.sight(NOON, [first, both], obs=1, run_id=made)
    shelf.sight(NOON + HOUR, [both, last], obs=2, run_id=made)
    assert seen(any_conn) == [(made, both), (made, last)]


@pytest.mark.parametrize(
    "later_price_of",
    [pytest.param(["blocked"], id="a blocked run"), pytest.param(["failed", "failed"], id="a failed run, tried twice")],
)
def test_prices_of_a_run_that_was_not_promoted_do_not_show(any_conn, shelf, now, later_price_of):
    product = shelf.product()
    shelf.setting(now - DAY)
    shelf.load(now - 3 * HOUR, {product: "10"})
    for _ in later_price_of:
        shelf.observe(now - 2 * HOUR, {product: "99"})
    assert offers(any_conn) == active_offers(any_conn) == current_prices(any_conn) == {product: "10"}
    shelf.load(now - HOUR, {product: None})
    assert offers(any_conn) == active_offers(any_conn) == current_prices(any_conn) == {product: "99"}


def test_the_price_of_a_vanished_product_is_that_of_the_promotion_that_had_it(any_conn, shelf):
    """A blocked run's price of a product that then vanished is older than the newest promotion, and still not shown."""
    stays, vanishes = shelf.product(), shelf.product()
    shelf.load(NOON, {stays: "10", vanishes: "20"})
    shelf.observe(NOON + HOUR, {stays: "11", vanishes: "99"})
    shelf.load(NOON + 2 * HOUR, {stays: "12"})
    assert offers(any_conn, NOON + 2 * HOUR) == current_prices(any_conn) == {stays: "12", vanishes: "20"}


def test_an_approved_run_brings_its_own_prices_and_none_of_later_runs(any_conn, shelf):
    product, new = shelf.product(), shelf.product()
    shelf.load(NOON, {product: "10"})
    blocked = shelf.observe(NOON + HOUR, {product: "11", new: "5"})
    shelf.observe(NOON + 2 * HOUR, {product: "99", new: "99"})
    shelf.promote(NOON + 3 * HOUR, [product, new], obs=blocked, observed_at=NOON + HOUR)
    assert offers(any_conn, NOON + 3 * HOUR) == current_prices(any_conn) == {product: "11", new: "5"}
    assert offers(any_conn, NOON + 3 * HOUR - TICK) == {product: "10"}


def test_a_refreshed_shelf_keeps_the_prices_that_it_had(any_conn, shelf):
    product = shelf.product()
    shelf.load(NOON, {product: "10"})
    shelf.observe(NOON + HOUR, {product: "99"})
    shelf.promote(NOON + 47 * HOUR, [product], obs=1)
    assert offers(any_conn, NOON + 90 * HOUR) == {product: "10"}


def test_the_last_price_of_one_observation_shows(any_conn, shelf):
    product = shelf.product()
    for amount in ("10", "11"):
        insert(any_conn, "prices", source_product_id=product, obs_seq=1, price_amount=amount)
    shelf.promote(NOON, [product], obs=1)
    assert offers(any_conn, NOON) == current_prices(any_conn) == {product: "11"}


@pytest.mark.spec("002 8.1", "002 2.7")
def test_a_product_that_was_never_promoted_shows_nowhere(any_conn, shelf):
    product = shelf.product()
    shelf.sight(NOON, [product], obs=shelf.observe(NOON, {product: "1"}))
    shelf.promote(NOON + HOUR, [], obs=2)
    assert offers(any_conn, NOON + HOUR) == offers(any_conn) == current_prices(any_conn) == {}


@pytest.mark.spec("002 13.1")
def test_an_offer_says_all_that_a_shopper_may_see(any_conn, shelf):
    product = shelf.product(title="Tent", brand="Peak", upc="0123", sku="T-1", delivered_url="https://net.example/t")
    shelf.observe(NOON, {product: "10.50"})
    shelf.promote(NOON + HOUR, [product], obs=1, observed_at=NOON)
    offer = any_conn.execute("SELECT * FROM offers_at(%s)", [NOON + 2 * HOUR]).fetchone()
    expected = {
        "source_product_id": product, "feed_key": shelf.feed["feed_key"], "retailer": shelf.feed["retailer"],
        "identity_type": "SKU", "title": "Tent", "brand": "Peak", "upc": "0123", "sku": "T-1",
        "url": "https://shop.example/tent", "delivered_url": "https://net.example/t",
        "price": Decimal("10.50"), "original_price": None, "currency": "USD", "in_stock": True,
        "last_seen_at": NOON, "last_seen_success_at": NOON + HOUR, "priced_at": NOON, "source_id": shelf.source_id,
    }  # fmt: skip
    assert {name: offer[name] for name in expected} == expected


@pytest.mark.spec("002 8.1", "002 8.6", "002 2.7", "002 13.1")
def test_an_offer_lives_to_the_edge_of_its_window(any_conn, shelf):
    product = shelf.product()
    shelf.load(NOON, {product: "10"})
    assert offers(any_conn, NOON - TICK) == {}
    assert offers(any_conn, NOON) == {product: "10"}
    assert offers(any_conn, NOON + 48 * HOUR) == {product: "10"}
    assert offers(any_conn, NOON + 48 * HOUR + TICK) == {}


@pytest.mark.spec("002 8.6", "002 2.7", "002 13.1")
def test_active_offers_live_to_the_edge_of_the_window_before_now(any_conn, now):
    for ago, shown in ((48 * HOUR, True), (48 * HOUR + TICK, False)):
        shelf = Shelf(any_conn, at=now - 9 * DAY)
        product = shelf.product()
        shelf.load(now - ago, {product: "10"})
        assert (product in active_offers(any_conn)) is shown
        assert current_prices(any_conn)[product] == "10"


@pytest.mark.spec("002 13.1")
def test_each_feed_has_a_window_of_its_own(any_conn):
    short, long = Shelf(any_conn, expiry_hours=1), Shelf(any_conn, expiry_hours=168)
    brief, lasting = short.product(), long.product()
    short.load(NOON, {brief: "1"})
    long.load(NOON, {lasting: "2"})
    assert offers(any_conn, NOON + HOUR) == {brief: "1", lasting: "2"}
    assert offers(any_conn, NOON + 2 * HOUR) == offers(any_conn, NOON + 168 * HOUR) == {lasting: "2"}


def test_within_a_window_products_that_left_show_until_they_are_as_old(any_conn, shelf):
    stays, leaves = shelf.product(), shelf.product()
    shelf.load(NOON, {stays: "1", leaves: "2"})
    shelf.load(NOON + 24 * HOUR, {stays: None})
    assert offers(any_conn, NOON + 48 * HOUR) == {stays: "1", leaves: "2"}
    assert offers(any_conn, NOON + 48 * HOUR + TICK) == {stays: "1"}


@pytest.mark.spec("002 2.8.2")
@pytest.mark.parametrize(
    "expiry_hours, changed_at, before, after",
    [
        pytest.param(24, NOON + 30 * HOUR, ["1"], [], id="shorter"),
        pytest.param(72, NOON + 50 * HOUR, [], ["1"], id="longer"),
    ],
)
def test_a_change_of_the_expiry_hours_acts_at_once_and_not_before(
    any_conn, shelf, expiry_hours, changed_at, before, after
):
    shelf.load(NOON, {shelf.product(): "1"})
    shelf.setting(changed_at, expiry_hours=expiry_hours)
    assert list(offers(any_conn, changed_at - TICK).values()) == before
    assert list(offers(any_conn, changed_at).values()) == after


@pytest.mark.spec("002 2.8.2")
def test_a_change_of_the_expiry_hours_acts_on_active_offers_at_once(any_conn, now):
    shelf = Shelf(any_conn, at=now - 9 * DAY)
    product = shelf.product()
    shelf.load(now - 30 * HOUR, {product: "1"})
    assert active_offers(any_conn) == {product: "1"}
    shelf.setting(now, expiry_hours=24)
    assert active_offers(any_conn) == {}
    shelf.setting(now, expiry_hours=30)  # at the same moment: the newest in order counts
    assert active_offers(any_conn) == {product: "1"}


@pytest.mark.spec("002 13.1")
@pytest.mark.parametrize("kind", ["AFFILIATE_FEED", "OTHER"])
def test_a_source_that_is_not_primary_is_hidden(any_conn, kind):
    shelf = Shelf(any_conn, kind=kind, primary=False)
    shelf.load(NOON, {shelf.product(): "1"})
    assert offers(any_conn, NOON) == {}


@pytest.mark.spec("002 13.1")
def test_a_source_without_any_setting_on_record_is_hidden(any_conn):
    shelf = Shelf(any_conn, at=NOON + HOUR)
    shelf.load(NOON, {shelf.product(): "1"})
    assert offers(any_conn, NOON) == {}
    assert len(offers(any_conn, NOON + HOUR)) == 1


@pytest.mark.spec("002 13.2")
def test_the_same_product_of_two_sources_is_two_offers(any_conn, shelf):
    """Nothing is merged: whoever wants one row per product groups them."""
    other = Shelf(any_conn)
    mine, theirs = shelf.product(upc="012345678905"), other.product(upc="012345678905")
    shelf.load(NOON, {mine: "1"})
    other.load(NOON, {theirs: "2"})
    assert offers(any_conn, NOON) == {mine: "1", theirs: "2"}


@pytest.mark.spec("002 13.5")
@pytest.mark.parametrize("plan", ["free", "growth", "enterprise"])
def test_the_plan_of_a_tenant_hides_nothing(any_conn, shelf, plan):
    product = shelf.product()
    shelf.load(NOON, {product: "1"})
    any_conn.execute("UPDATE tenants SET plan = %s", [plan])
    assert offers(any_conn, NOON) == {product: "1"}


@pytest.mark.spec("002 13.3", "002 13.1")
def test_the_flag_moves_the_shelf_from_one_source_to_the_other(any_conn, shelf):
    other = Shelf(any_conn, retailer_id=shelf.retailer_id, primary=False)
    mine, theirs = shelf.product(), other.product()
    shelf.load(NOON, {mine: "1"})
    other.load(NOON, {theirs: "2"})
    shelf.setting(NOON + HOUR, primary=False)
    other.setting(NOON + HOUR, primary=True)
    assert offers(any_conn, NOON + HOUR - TICK) == {mine: "1"}
    assert offers(any_conn, NOON + HOUR) == {theirs: "2"}


@pytest.mark.parametrize("primary", [False, True], ids=["and is no longer primary", "whatever its flag says"])
def test_a_removed_feed_leaves_at_once_and_stays_in_the_past(any_conn, now, primary):
    shelf = Shelf(any_conn, at=now - 9 * DAY)
    product = shelf.product()
    shelf.load(now - 2 * HOUR, {product: "1"})
    shelf.setting(now - HOUR, primary=primary, removed=True)
    assert offers(any_conn) == active_offers(any_conn) == offers(any_conn, now - HOUR) == {}
    assert offers(any_conn, now - HOUR - TICK) == {product: "1"}


@pytest.mark.spec("002 13.3", "002 13.1")
def test_a_direct_source_shows_unless_its_retailer_has_another_primary(any_conn, shelf):
    direct = Shelf(any_conn, kind="DIRECT", retailer_id=shelf.retailer_id, primary=False)
    elsewhere = Shelf(any_conn, kind="DIRECT", primary=False)
    shelf.setting(NOON + HOUR, primary=False)
    own, other = direct.product(), elsewhere.product()
    direct.load(NOON, {own: "1"})
    elsewhere.load(NOON, {other: "2"})
    assert offers(any_conn, NOON) == {other: "2"}
    assert offers(any_conn, NOON + HOUR) == {own: "1", other: "2"}
    shelf.setting(NOON + 2 * HOUR, primary=True)
    assert offers(any_conn, NOON + 2 * HOUR) == {other: "2"}
    shelf.setting(NOON + 3 * HOUR, primary=True, removed=True)
    assert offers(any_conn, NOON + 3 * HOUR) == {own: "1", other: "2"}
    direct.setting(NOON + 4 * HOUR, primary=True)
    assert offers(any_conn, NOON + 4 * HOUR) == {own: "1", other: "2"}


@pytest.mark.spec("002 13.1")
def test_a_direct_source_without_a_feed_shows_its_offers(any_conn, shelf):
    any_conn.execute("DELETE FROM feed_settings WHERE id = %s", [shelf.feed["id"]])
    any_conn.execute("UPDATE sources SET source_kind = 'DIRECT' WHERE id = %s", [shelf.source_id])
    product = shelf.product()
    shelf.load(NOON, {product: "1"})
    assert any_conn.execute("SELECT feed_key FROM offers_at(%s)", [NOON]).fetchall() == [{"feed_key": None}]


def test_a_clock_that_steps_back_empties_nothing(any_conn, now):
    """All that a source has was stamped by a clock ten hours ahead."""
    ahead = now + 10 * HOUR
    shelf = Shelf(any_conn, at=ahead - 48 * HOUR)
    fresh, edge, old = (shelf.product() for _ in range(3))
    shelf.load(ahead - 48 * HOUR - TICK, {old: "3", edge: "2", fresh: "1"})
    shelf.load(ahead - 48 * HOUR, {edge: None, fresh: None})
    shelf.load(ahead, {fresh: None})
    shelf.stamp(ahead)
    assert offers(any_conn) == active_offers(any_conn) == {fresh: "1", edge: "2"}
    assert offers(any_conn, now) == {fresh: "1", edge: "2", old: "3"}


def test_a_setting_stamped_ahead_of_the_clock_is_in_force(any_conn, now):
    shelf = Shelf(any_conn, at=now + 10 * HOUR)
    product = shelf.product()
    shelf.load(now + 10 * HOUR, {product: "1"})
    shelf.stamp(now + 10 * HOUR)
    assert offers(any_conn) == {product: "1"}
    assert offers(any_conn, now) == {}


@pytest.mark.spec("002 13.1")
def test_a_direct_source_hides_behind_a_primary_stamped_ahead_of_the_clock(any_conn, now):
    """Now is for each source its own: the flag of the other counts from its own stamp on."""
    direct = Shelf(any_conn, kind="DIRECT", primary=False, at=now - DAY)
    primary = Shelf(any_conn, retailer_id=direct.retailer_id, primary=False, at=now - DAY)
    primary.setting(now + HOUR, primary=True)
    primary.stamp(now + HOUR)
    own, shown = direct.product(), primary.product()
    direct.load(now - HOUR, {own: "1"})
    primary.load(now - HOUR, {shown: "2"})
    assert offers(any_conn) == {shown: "2"}


def test_a_direct_source_returns_when_a_primary_stamped_ahead_is_removed(any_conn, now):
    direct = Shelf(any_conn, kind="DIRECT", primary=False, at=now - DAY)
    primary = Shelf(any_conn, retailer_id=direct.retailer_id, at=now - DAY)
    primary.setting(now + HOUR, primary=False, removed=True)
    primary.stamp(now + HOUR)
    own = direct.product()
    direct.load(now - HOUR, {own: "1"})
    assert offers(any_conn) == {own: "1"}


def test_a_product_with_two_spans_in_the_window_shows_once(any_conn, shelf):
    stays, returns = shelf.product(), shelf.product()
    shelf.load(NOON, {stays: "1", returns: "2"})
    shelf.load(NOON + HOUR, {stays: None})
    shelf.load(NOON + 2 * HOUR, {stays: None, returns: "3"})
    for hour, price in enumerate(("2", "2", "3")):
        assert offers(any_conn, NOON + hour * HOUR) == {stays: "1", returns: price}
    rows = any_conn.execute("SELECT * FROM offers_at(%s) WHERE source_product_id = %s", [NOON + 3 * HOUR, returns])
    assert [row["last_seen_success_at"] for row in rows] == [NOON + 2 * HOUR]


def test_of_two_promotions_at_the_same_moment_the_later_in_order_shows(any_conn, shelf):
    product = shelf.product()
    shelf.load(NOON, {product: "1"})
    shelf.load(NOON, {product: "2"})
    assert offers(any_conn, NOON) == {product: "2"}


@pytest.mark.parametrize("seed", range(8))
def test_the_shelf_of_any_past_moment_is_what_the_literal_rules_gave(any_conn, seed):
    """The design's rules with a dictionary, every product rewritten at every promotion, beside the views."""
    chance = Random(seed)  # noqa: S311 - a reproducible history, not a secret
    shelf = Shelf(any_conn, expiry_hours=3)
    products = [shelf.product() for _ in range(5)]
    latest, promoted, moments = {}, {}, []  # newest price; price and time of the last promotion that had it
    at = NOON
    for _ in range(14):
        at += chance.choice([timedelta(0), HOUR, 2 * HOUR])
        file = {product: f"{chance.randint(1, 3)}" for product in products if chance.random() < 0.6}
        latest |= file
        obs = shelf.observe(at, file)
        if chance.random() < 0.6:
            shelf.promote(at, file, obs=obs)
            promoted |= {product: (latest[product], at) for product in file}
        moments = [(then, shown) for then, shown in moments if then != at] + [(at, dict(promoted))]
    for then, shown in moments:
        alive = {product: price for product, (price, when) in shown.items() if then - when <= 3 * HOUR}
        assert offers(any_conn, then) == alive
    assert current_prices(any_conn) == {product: price for product, (price, _) in promoted.items()}
    for product in products:
        assert presence(any_conn, product)[1] == promoted.get(product, (None, None))[1]
