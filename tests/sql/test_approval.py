"""A person's word on a blocked run: what may be approved or rejected, what follows, and who wins when several act."""

import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import pytest

from db import engine, shelf
from db.clock import Clock
from db.errors import BadRequestError, BusyError, FeedmillError, RefusedError
from db.ids import new_id
from db.shelf import ShelfCounts
from tasks import exclusive
from tasks.catalogue import approval, registry, switches
from tests.mill import after, row
from tests.plain import PlainMill

DEADLINE_SECONDS = 60
VERDICT = ("expiry_approved_at", "expiry_approved_by", "expiry_rejected_at", "expiry_rejected_by")


@pytest.fixture
def mill(conn, tmp_path, monkeypatch):
    monkeypatch.setenv("FEEDMILL_TEST_CLOCK", "1")
    return PlainMill(conn, tmp_path / "catalog.csv").put_on_file()


@pytest.fixture
def blocked(mill):
    """The record of a run that lost twenty of thirty products, retitled one and repriced another."""
    mill.deliver(*[row(number) for number in range(1, 31)])
    mill.run(at=after(1))
    mill.deliver(*[row(number) for number in range(3, 11)], row(1, name="Retitled"), row(2, price="2.50"), row(99))
    record = mill.run(at=after(2))
    assert record["expiry_blocked"]
    return record


def by(name="ann", hours=None):
    return registry.Actor(name, Clock(None if hours is None else after(hours)))


def approve(record, *, hours=5, name="ann"):
    return approval.approve(record["id"], by(name, hours))


def reject(record, *, hours=5, name="bob", reason="the export was cut short"):
    return approval.reject(record["id"], reason, by(name, hours))


def now(mill, record):
    return mill.one("SELECT * FROM affiliate_feed_runs WHERE id = %s", record["id"])


@contextmanager
def refused(code, kind=RefusedError):
    with pytest.raises(kind) as raised:
        yield
    assert raised.value.code == code


@pytest.mark.spec("002 8.7", "002 17.9")
def test_approval_puts_the_run_on_the_shelf_as_of_now(mill, blocked):
    decision = approve(blocked)
    record = now(mill, blocked)
    assert decision.products_promoted == 11
    assert mill.counts(record, *VERDICT) == (after(5), "ann", None, None)
    assert mill.counts(record, "status", "expiry_blocked", "promotion_seq") == ("SUCCEEDED", True, 2)
    assert mill.counts(record, "would_expire_count", "products_expired") == (20, 20)
    promotion = mill.contents("promotions")[-1]
    assert mill.counts(promotion, "promoted_at", "observed_at", "cutoff_obs", "run_id") == (
        after(5), after(2), record["obs_seq"], record["id"]
    )  # fmt: skip
    offers = mill.offers(after(5))
    assert {offers[f"item-{number}"]["last_seen_success_at"] for number in (1, 10, 99)} == {after(5)}
    assert offers["item-30"]["last_seen_success_at"] == after(1)
    assert (offers["item-1"]["title"], str(offers["item-2"]["price"])) == ("Retitled", "2.50")
    [event] = mill.events("ACTIVATION_APPROVED")
    assert mill.counts(event, "actor", "run_id", "occurred_at") == ("ann", record["id"], after(5))
    assert event["fields"] == {"feed_id": record["feed_id"], "approved_by": "ann", "products_promoted": 11}
    assert (mill.contents("sightings"), mill.contents("product_changes")) == ([], [])
    assert mill.feed()["last_stamp_at"] == after(5)


@pytest.mark.spec("002 8.7")
def test_products_that_an_approval_let_go_age_out(mill, blocked):
    approve(blocked)
    assert len(mill.offers(after(49))) == 31
    assert len(mill.offers(after(49.1))) == 11
    assert len(mill.offers(after(53))) == 11


@pytest.mark.spec("002 8.7")
def test_after_an_approved_deletion_the_next_ordinary_file_is_not_blocked(mill, blocked):
    approve(blocked)
    mill.deliver(*[row(number) for number in range(1, 11)])
    record = mill.run(at=after(6))
    assert mill.counts(record, "expiry_blocked", "active_count_before", "would_expire_count") == (False, 11, 1)


@pytest.mark.spec("002 8.7")
def test_rejection_keeps_the_run_off_the_shelf_for_good(mill, blocked):
    shown = mill.offers(after(5))
    reject(blocked)
    record = now(mill, blocked)
    assert mill.counts(record, *VERDICT) == (None, None, after(5), "bob")
    assert record["expiry_rejected_reason"] == "the export was cut short"
    assert mill.offers(after(5)) == shown
    [event] = mill.events("ACTIVATION_APPROVAL_REJECTED")
    assert event["fields"] == {
        "feed_id": record["feed_id"], "rejected_by": "bob", "reason": "the export was cut short"
    }  # fmt: skip
    with refused("ALREADY_REJECTED"):
        approve(blocked, hours=6)
    with refused("ALREADY_REJECTED"):
        reject(blocked, hours=6)
    assert mill.run(at=after(7))["skipped_reason"] == "UNCHANGED_MTIME"


@pytest.mark.spec("002 8.7")
def test_approval_twice_is_refused(mill, blocked):
    approve(blocked)
    with refused("ALREADY_APPROVED"):
        approve(blocked, hours=6, name="bob")
    with refused("ALREADY_APPROVED"):
        reject(blocked, hours=6)
    assert mill.counts(now(mill, blocked), *VERDICT) == (after(5), "ann", None, None)
    assert len(mill.contents("promotions")) == 2


@pytest.mark.spec("002 8.7")
@pytest.mark.parametrize("act", [approve, reject])
def test_run_that_nothing_held_back_cannot_be_decided_on(mill, act):
    mill.deliver(row(1))
    record = mill.run(at=after(1))
    with refused("NOT_BLOCKED"):
        act(record)
    skipped = mill.run(at=after(6))
    with refused("NOT_BLOCKED"):
        act(skipped, hours=7)


@pytest.mark.spec("002 8.7")
@pytest.mark.parametrize("act", [approve, reject])
def test_failed_run_cannot_be_decided_on(mill, act):
    record = mill.fail(at=after(1))
    with refused("RUN_NOT_SUCCEEDED"):
        act(record)


@pytest.mark.spec("002 8.7")
def test_unknown_run_is_refused(mill):
    with refused("RUN_NOT_FOUND", BadRequestError):
        approval.approve(new_id(), by())


@pytest.mark.spec("002 8.7", "002 17.9")
@pytest.mark.parametrize("newer", ["promoted", "blocked", "step failed"])
@pytest.mark.parametrize("act", [approve, reject])
def test_run_is_stale_once_a_later_file_was_processed(mill, blocked, act, newer):
    if newer == "step failed":
        mill.conn.execute("ALTER TABLE promotions ADD CONSTRAINT no CHECK (seq < 2)")
    mill.deliver(*[row(number) for number in (range(1, 30) if newer == "promoted" else [1, 2])])
    if newer == "step failed":
        mill.deliver(*[row(number) for number in range(1, 29)])
    later = mill.run(at=after(3))
    assert (later["promotion_seq"] is not None) is (newer == "promoted")
    with pytest.raises(RefusedError, match="A newer run has completed") as raised:
        act(blocked)
    assert raised.value.code == "STALE_RUN"
    assert mill.counts(now(mill, blocked), *VERDICT) == (None, None, None, None)
    [event] = mill.events("ACTIVATION_APPROVAL_REJECTED")
    assert mill.counts(event, "level", "run_id") == ("WARN", blocked["id"])
    assert event["fields"]["reason"] == "STALE_RUN"


@pytest.mark.spec("002 8.7")
@pytest.mark.parametrize("newer", ["skipped", "failed", "failed half-way"])
def test_run_is_not_stale_after_one_that_processed_no_file(mill, blocked, newer):
    if newer != "skipped":
        mill.deliver(*([row(1, name="Half"), row(2)] if newer == "failed half-way" else []))
        if newer == "failed half-way":
            mill.conn.execute("ALTER TABLE catalogue_runs ADD CONSTRAINT no CHECK (rows_read <> 2) NOT VALID")
        mill.fail(at=after(3))
        mill.conn.execute("ALTER TABLE catalogue_runs DROP CONSTRAINT IF EXISTS no")
    else:
        assert mill.run(at=after(3))["skipped_reason"]
    assert approve(blocked).products_promoted == 11
    left = {sighting["run_id"] for sighting in mill.contents("sightings")}
    assert left == ({mill.newest_run()["id"]} if newer == "failed half-way" else set())
    assert mill.offers(after(5))["item-1"]["title"] == "Retitled"


@pytest.mark.spec("002 8.7")
def test_order_is_by_observation_and_not_by_time(mill, blocked):
    """A clock that stood still between two runs does not make the older one fit for approval."""
    mill.deliver(*[row(number) for number in range(1, 31)])
    later = mill.run(at=after(2))
    assert later["started_at"] == blocked["started_at"]
    with refused("STALE_RUN"):
        approve(blocked)


@pytest.mark.spec("002 8.7")
def test_run_whose_phase_two_failed_can_be_approved(mill):
    mill.deliver(*[row(number) for number in range(1, 4)])
    mill.run(at=after(1))
    mill.deliver(row(1), row(2, name="Retitled"), row(4))
    mill.conn.execute("ALTER TABLE promotions ADD CONSTRAINT no CHECK (seq < 2)")
    record = mill.run(at=after(2))
    assert mill.counts(record, "expiry_step_failed", "would_expire_count") == (True, None)
    mill.conn.execute("ALTER TABLE promotions DROP CONSTRAINT no")
    assert approve(record).products_promoted == 3
    figures = ("active_count_before", "seen_success_count", "would_expire_count", "products_expired")
    assert mill.counts(now(mill, record), *figures) == (3, 2, 1, 1)
    assert mill.offers(after(5))["item-2"]["title"] == "Retitled"


def test_statements_of_a_decision_find_a_decided_run_no_more(mill, blocked):
    """Were the lock to fail, the second decision would still be none."""
    counts = ShelfCounts(30, 20, 1, 0, 11, 0)

    def both():
        approved = shelf.mark_approved(mill.conn, blocked["id"], counts, seq=2, by="ann", at=after(5))
        rejected = shelf.mark_rejected(mill.conn, blocked["id"], by="bob", reason="no", at=after(5))
        return approved, rejected

    assert [both(), both()] == [(True, False), (False, False)]


def test_failure_in_an_approval_leaves_everything_as_it_was(mill, blocked):
    written = mill.written()
    mill.conn.execute("ALTER TABLE audit_events ADD CONSTRAINT no CHECK (event_name <> 'ACTIVATION_APPROVED')")
    with pytest.raises(FeedmillError):
        approve(blocked)
    assert mill.written() == written
    assert mill.counts(now(mill, blocked), *VERDICT) == (None, None, None, None)
    mill.conn.execute("ALTER TABLE audit_events DROP CONSTRAINT no")
    assert approve(blocked).products_promoted == 11


def test_approval_before_the_last_stamp_is_refused(mill, blocked):
    with refused("AT_TOO_EARLY", BadRequestError):
        approve(blocked, hours=1)


@pytest.mark.parametrize("name", ["", "  ", "a\nb"])
def test_approval_needs_a_name(mill, blocked, name):
    with refused("BAD_VALUE", BadRequestError):
        approve(blocked, name=name)


def test_rejection_needs_a_reason(mill, blocked):
    with refused("BAD_VALUE", BadRequestError):
        reject(blocked, reason=" ")


@pytest.mark.parametrize("switch", [switches.PAUSE, None], ids=["paused", "removed"])
def test_paused_feed_may_be_approved_and_a_removed_one_not(mill, blocked, switch):
    if switch:
        switches.turn(mill.conn, mill.key, switch, by(hours=3))
        assert approve(blocked).products_promoted == 11
    else:
        registry.remove_feed(mill.conn, mill.key, by(hours=3))
        with refused("FEED_REMOVED"):
            approve(blocked)


@pytest.mark.spec("002 8.7")
def test_two_approvers_at_once_are_one_approval(mill, blocked):
    outcomes = at_once(*(lambda name=name: approve(blocked, name=name) for name in ("ann", "bob", "cem")))
    assert sorted(outcomes) == ["ALREADY_APPROVED", "ALREADY_APPROVED", "done"]
    assert len(mill.contents("promotions")) == 2
    assert len(mill.events("ACTIVATION_APPROVED")) == 1


@pytest.mark.spec("002 8.7")
def test_approver_and_rejecter_at_once_are_one_verdict(mill, blocked):
    first, second = at_once(lambda: approve(blocked), lambda: reject(blocked))
    assert (first, second) in {("done", "ALREADY_APPROVED"), ("ALREADY_REJECTED", "done")}
    assert len(mill.contents("promotions")) == (2 if first == "done" else 1)


@pytest.mark.spec("002 8.7")
@pytest.mark.parametrize("act", [approve, reject])
def test_approval_during_a_run_is_refused_as_busy(mill, blocked, act, monkeypatch):
    monkeypatch.setattr(exclusive, "LOCK_SECONDS", 0)
    mill.deliver(*[row(number) for number in range(1, 31)])
    written = None
    with pytest.raises(KeyboardInterrupt), mill.loaded(at=after(3)):
        written = mill.written()
        with pytest.raises(BusyError):
            act(blocked)
        raise KeyboardInterrupt
    assert mill.written() == written
    assert act(blocked).run["id"] == blocked["id"]


@pytest.mark.spec("002 8.7")
def test_run_during_an_approval_is_refused_as_busy(mill, blocked, database, monkeypatch):
    """The approval is held up half-way; a run that comes then finds the feed busy, and there is no record of it."""
    monkeypatch.setattr(exclusive, "LOCK_SECONDS", 0)
    runs = len(mill.runs())
    with engine.open_connection(database) as other, ThreadPoolExecutor(1) as pool:
        with other.transaction():
            other.execute("LOCK TABLE promotions IN SHARE MODE")
            approving = pool.submit(approve, blocked)
            waiting = "SELECT FROM pg_locks WHERE NOT granted AND relation = 'promotions'::regclass"
            while not mill.conn.execute(waiting).fetchall():
                assert not approving.done()
            with pytest.raises(BusyError):
                mill.run(at=after(6))
            assert mill.counts(now(mill, blocked), *VERDICT) == (None, None, None, None)
        assert approving.result(DEADLINE_SECONDS).products_promoted == 11
    assert len(mill.runs()) == runs


def test_approval_closes_a_run_whose_process_is_gone(mill, blocked, database):
    """Whoever takes the lock knows that no other process of the feed lives."""
    mill.deliver(*[row(number) for number in range(1, 31)])
    with pytest.raises(exclusive.LockLostError), mill.loaded(at=after(3)) as (run, _seen):
        mill.conn.execute("SELECT pg_terminate_backend(%s)", [run.conn.info.backend_pid])
        run.conn.close()
        raise ConnectionError
    assert mill.newest_run()["status"] == "RUNNING"
    approve(blocked)
    assert mill.counts(mill.newest_run(), "status", "error_code") == ("FAILED", "WORKER_LOST")


def at_once(*calls):
    """What becomes of each call, made when all of them are ready: done, or the code of the refusal."""
    ready = threading.Barrier(len(calls))

    def act(call):
        ready.wait(DEADLINE_SECONDS)
        try:
            call()
        except FeedmillError as error:
            return error.code
        return "done"

    with ThreadPoolExecutor(len(calls)) as pool:
        return list(pool.map(act, calls))
