"""Rules broken on purpose, one at a time: the comparison has to find out, or it would prove nothing."""

from collections import Counter

import pytest

from db import catalogue, shelf
from db.sql import load_sql
from tasks.catalogue import identity, load
from tests.model.check import check
from tests.model.faults import FaultyConnection
from tests.model.machine import Difference

HISTORIES = 400
SEED = 11

pytestmark = pytest.mark.slow


def finds_a_difference(world) -> None:
    with pytest.raises(Difference):
        check(world, histories=HISTORIES, seed=SEED, counts=Counter(), shrinks=False)


def replace_statement(monkeypatch, name, old, new):
    """The statement of that file with one phrase replaced, wherever it is used."""
    changed = load_sql(name).replace(old, new)
    assert changed != load_sql(name)
    for module in (catalogue, shelf):
        monkeypatch.setattr(module, "load_sql", lambda asked: changed if asked == name else load_sql(asked))


def replace_in_schema(world, name, old, new):
    """A view or function of the test's database with one phrase replaced."""
    text = load_sql(f"schema/{name}")
    changed = text.replace(old, new).replace("CREATE VIEW", "CREATE OR REPLACE VIEW")
    assert changed != text
    world.reader.execute(changed.replace("CREATE FUNCTION", "CREATE OR REPLACE FUNCTION"))


@pytest.mark.parametrize(
    "new",
    [
        pytest.param("latest.created_at <= shelf.last_seen_success_at", id="by time"),
        pytest.param("true", id="whatever came last"),
    ],
)
def test_rule_1_price_by_observation(world, new):
    replace_in_schema(world, "09_offers_at", "latest.obs_seq <= shelf.cutoff_obs", new)
    finds_a_difference(world)


def test_rule_2_one_transaction(world, monkeypatch):
    """The promotion is committed before the run's final status."""
    execute = FaultyConnection.execute

    def commits_early(conn, query, *args, **options):
        result = execute(conn, query, *args, **options)
        if query == load_sql("shelf/mark_promoted"):
            execute(conn, "COMMIT")
            execute(conn, "BEGIN")
        return result

    monkeypatch.setattr(FaultyConnection, "execute", commits_early)
    finds_a_difference(world)


@pytest.mark.parametrize(
    ("name", "old", "new"),
    [
        pytest.param("shelf/mark_seen_outside", "WHERE p.id =", "WHERE false AND p.id =", id="time outside is lost"),
        pytest.param("shelf/delete_older_sightings", "obs_seq <", "obs_seq < 0 AND obs_seq <", id="old ones stay"),
    ],
)
def test_rule_4_fold(world, monkeypatch, name, old, new):
    replace_statement(monkeypatch, name, old, new)
    finds_a_difference(world)


def test_rule_5_clean_up_leaves_sightings(world):
    gone = "FOREIGN KEY (run_id) REFERENCES ingestion_runs (id) ON DELETE CASCADE"
    world.reader.execute(f"ALTER TABLE sightings ADD {gone}")
    finds_a_difference(world)


def test_rule_6_seen_set_of_the_final_attempt(world):
    final = "AND coalesce(final.obs_seq, s.obs_seq) = s.obs_seq"
    replace_in_schema(world, "07_source_product_seen", final, "")
    finds_a_difference(world)


def test_rule_8_the_last_row_of_the_whole_file(world, monkeypatch):
    """Doubles are taken out of each batch alone."""
    last_of_each = identity.last_of_each

    def batches(products, *, size=100):
        for batch in products.iter_slices(size):
            yield last_of_each(batch)

    monkeypatch.setattr(identity, "last_of_each", lambda rows: rows)
    monkeypatch.setattr(load, "batches", batches)
    finds_a_difference(world)


@pytest.mark.parametrize(
    ("name", "old", "new"),
    [
        pytest.param("shelf/update_products", "c.obs_seq =", "c.obs_seq <=", id="older changes are applied"),
        pytest.param("shelf/update_products", "p.id = c.product_id", "false", id="changes are never applied"),
    ],
)
def test_rule_10_attribute_changes(world, monkeypatch, name, old, new):
    replace_statement(monkeypatch, name, old, new)
    finds_a_difference(world)
