"""Rules of the storage model broken on purpose, one at a time: the comparison finds out, or it would prove nothing.

Each is found in a relation that shows that very rule.
"""

import sys
from collections import Counter

import polars as pl
import pytest

from db.sql import load_sql
from tasks.catalogue import breaker, identity, load
from tests.model.check import check
from tests.model.faults import FaultyConnection
from tests.model.machine import Difference

HISTORIES = 400
SEED = 11

pytestmark = pytest.mark.slow


@pytest.fixture
def found(world):
    """Asserts that some history shows a difference in one of these relations."""

    def differs(*relations):
        with pytest.raises(Difference, match=rf"^({'|'.join(relations)})"):
            check(world, histories=HISTORIES, seed=SEED, counts=Counter(), shrinks=False)

    return differs


@pytest.fixture
def statement(monkeypatch):
    """Replaces one phrase of a statement, wherever the statement is used."""

    def replaced(name, old, new):
        changed = load_sql(name).replace(old, new)
        assert changed != load_sql(name)
        for module in [module for at, module in sys.modules.items() if at.startswith("db.") and at != "db.sql"]:
            if hasattr(module, "load_sql"):
                monkeypatch.setattr(module, "load_sql", lambda asked: changed if asked == name else load_sql(asked))

    return replaced


@pytest.fixture
def schema(world):
    """Replaces one phrase of a view or a function of the test's database."""

    def replaced(name, old, new):
        text = load_sql(f"schema/{name}")
        assert old in text
        for kind in ("VIEW", "FUNCTION"):
            text = text.replace(f"CREATE {kind}", f"CREATE OR REPLACE {kind}")
        world.reader.execute(text.replace(old, new))

    return replaced


@pytest.mark.parametrize(
    "condition",
    [
        pytest.param("latest.created_at <= k.promoted_at", id="what was seen before the promotion"),
        pytest.param("true", id="what came last"),
    ],
)
def test_rule_1_price_by_observation(schema, found, condition):
    schema("09_offers_at", "latest.obs_seq <= k.cutoff_obs", condition)
    found("active_offers", "offers_at")


def test_rule_2_one_transaction(monkeypatch, found):
    """The promotion is committed before the run's final status."""
    execute = FaultyConnection.execute

    def commits_early(conn, query, *args, **options):
        result = execute(conn, query, *args, **options)
        if query == load_sql("shelf/mark_judged"):
            execute(conn, "COMMIT")
            execute(conn, "BEGIN")
        return result

    monkeypatch.setattr(FaultyConnection, "execute", commits_early)
    found("source_products", "source_product_presence", "active_offers", "affiliate_feed_runs")


@pytest.mark.parametrize(
    ("old", "new"),
    [
        pytest.param("AND life.status = 'completed'", "AND false", id="never stale"),
        pytest.param("AND life.status = 'completed'", "", id="by failed runs too"),
        pytest.param(
            "newer.obs_seq > run.obs_seq",
            "(SELECT r.started_at FROM ingestion_runs r WHERE r.id = newer.run_id)"
            " > (SELECT r.started_at FROM ingestion_runs r WHERE r.id = run.run_id)",
            id="by time",
        ),
    ],
)
def test_rule_3_stale_approval(statement, found, old, new):
    statement("shelf/select_newer_run", old, new)
    found("Approve", "Reject", "source_product", "affiliate_feed_runs")


@pytest.mark.parametrize(
    ("name", "old", "new", "relation"),
    [
        pytest.param(
            "shelf/mark_seen_outside", "WHERE p.id =", "WHERE false AND p.id =", "source_product_presence",
            id="when it was last seen is lost",
        ),
        pytest.param(
            "shelf/delete_sightings", "BETWEEN %(from_obs)s", "BETWEEN %(to_obs)s", "source_product_seen",
            id="older sightings stay",
        ),
    ],
)  # fmt: skip
def test_rule_4_fold(statement, found, name, old, new, relation):
    statement(name, old, new)
    found(relation)


def test_rule_5_clean_up_leaves_sightings(world, found):
    cascade = "FOREIGN KEY (run_id) REFERENCES ingestion_runs (id) ON DELETE CASCADE"
    world.reader.execute(f"ALTER TABLE sightings ADD {cascade}")
    found("source_product_presence")


def test_rule_6_seen_set_of_the_final_attempt(schema, found):
    schema("07_source_product_seen", "AND coalesce(final.obs_seq, s.obs_seq) = s.obs_seq", "")
    found("source_product_seen")


def test_rule_7_one_time_per_attempt(statement, found):
    statement("catalogue/append_prices", "signature, %(observed_at)s", "signature, %(observed_at)s + interval '1 ms'")
    found("prices")


def test_rule_8_the_last_row_of_the_whole_file(monkeypatch, found):
    """Doubles are taken out of each batch alone."""
    last_of_each = identity.last_of_each

    def of_each_batch(rows):
        return pl.concat([last_of_each(batch) for batch in rows.iter_slices(load.BATCH_ROWS)])

    monkeypatch.setattr(identity, "last_of_each", of_each_batch)
    found("source_products", "affiliate_feed_runs", "prices")


@pytest.mark.parametrize(
    ("old", "new", "relation"),
    [
        pytest.param("%(promoted_at)s,", "%(observed_at)s,", "source_product_presence", id="time of the run"),
        pytest.param("%(cutoff_obs)s", "(SELECT obs_seq FROM sources WHERE id = %(source_id)s)", "prices", id="prices"),
    ],
)
def test_rule_9_approval(statement, found, old, new, relation):
    statement("shelf/insert_promotion", old, new)
    found(relation)


_SEEN_LAST = """coalesce((SELECT c.fingerprint FROM product_changes c WHERE c.product_id = p.id
                           ORDER BY c.obs_seq DESC LIMIT 1), p.fingerprint)"""


@pytest.mark.parametrize(
    ("name", "old", "new"),
    [
        pytest.param(
            "catalogue/copy_state", "THEN p.fingerprint", f"THEN {_SEEN_LAST}", id="against what was seen last"
        ),
        pytest.param("shelf/update_products", "p.id = c.product_id", "false", id="never applied"),
    ],
)
def test_rule_10_attribute_changes(statement, found, name, old, new):
    statement(name, old, new)
    found("source_products", "affiliate_feed_runs")


def test_gates_block(monkeypatch, found):
    monkeypatch.setattr(breaker, "judge", lambda _counts, _limits: ())
    found("source_product", "affiliate_feed_runs")
