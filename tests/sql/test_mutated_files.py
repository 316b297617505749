"""Files that were damaged on their way: each run ends in a record that adds up, and a failed one changes nothing."""

import random

import pytest

from db.errors import FeedmillError
from feedmill.simulator.catalogue import make_catalogue
from feedmill.simulator.files import write_csv
from tests.mill import deliver
from tests.plain import PlainMill

FILES = 1_000
SEED = 20261118
PRODUCTS = 40
_SUMS = """
    SELECT rows_read = products_upserted + products_rejected + duplicate_key_count
           AND products_upserted = products_created + products_changed + products_unchanged AS adds_up
      FROM affiliate_feed_runs WHERE id = %s"""
_FORGIVE = "UPDATE schedules SET status = 'ENABLED', consecutive_failures = 0"
_SHOWN = "SELECT source_product_id, price, title FROM active_offers ORDER BY source_product_id"


def flip(data: bytes, chance: random.Random) -> bytes:
    out = bytearray(data)
    for _ in range(chance.choice((1, 3, 20, 200))):
        out[chance.randrange(len(out))] ^= 1 << chance.randrange(8)
    return bytes(out)


def cut(data: bytes, chance: random.Random) -> bytes:
    start, end = sorted(chance.randrange(len(data) + 1) for _ in range(2))
    return chance.choice((data[:end], data[start:], data[:start] + data[end:]))


def double(data: bytes, chance: random.Random) -> bytes:
    start, end = sorted(chance.randrange(len(data) + 1) for _ in range(2))
    return data[:end] + data[start:end] + data[end:]


def re_encode(data: bytes, chance: random.Random) -> bytes:
    encoding = chance.choice(("utf-16", "utf-16-be", "cp1252", "utf-8-sig", "utf-32"))
    return data.decode(errors="replace").encode(encoding, errors="replace")


MUTATIONS = (flip, cut, double, re_encode)


@pytest.mark.slow
@pytest.mark.spec("002 7.4")
def test_a_damaged_file_is_read_refused_or_held_back_and_loses_nothing(conn, tmp_path, monkeypatch):
    monkeypatch.setenv("FEEDMILL_TEST_CLOCK", "1")
    mill = PlainMill(conn, tmp_path / "catalog.csv").put_on_file()
    write_csv(make_catalogue(SEED, PRODUCTS), tmp_path / "plain.csv")
    whole = (tmp_path / "plain.csv").read_bytes()
    deliver(mill.path, whole)
    mill.run()
    chance = random.Random(SEED)  # noqa: S311 - a seed, not a secret
    outcomes = {"failed": 0, "waits": 0, "promoted": 0, "skipped": 0}
    for _ in range(FILES):
        damaged = whole
        for mutate in chance.choices(MUTATIONS, k=chance.choice((1, 1, 2))):
            damaged = mutate(damaged, chance) if damaged else damaged
        outcomes[run_once(mill, damaged)] += 1
    assert min(outcomes["failed"], outcomes["waits"], outcomes["promoted"]) > FILES // 50, outcomes


def run_once(mill: PlainMill, damaged: bytes) -> str:
    """How the run of this file ended; it never ends in an error that is not ours, nor does a reader see half of it."""
    before = mill.conn.execute(_SHOWN).fetchall()
    deliver(mill.path, damaged)
    try:
        mill.run()
    except FeedmillError as refused:
        assert refused.code != "UNEXPECTED"
    record = mill.newest_run()
    assert record["error_code"] != "UNEXPECTED", record["error_message"]
    if record["rows_read"] is not None:
        assert mill.one(_SUMS, record["id"])["adds_up"]
    mill.conn.execute(_FORGIVE)
    if record["promotion_seq"] is not None:
        return "promoted"
    assert mill.conn.execute(_SHOWN).fetchall() == before
    if record["skipped_reason"]:
        return "skipped"
    return "waits" if record["status"] == "SUCCEEDED" else "failed"
