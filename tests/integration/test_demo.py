"""`feedmill demo` as one plays it who has just installed feedmill: it tells the truth and leaves nothing behind."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from feedmill import demo
from feedmill.simulator.catalogue import make_catalogue
from feedmill.simulator.days import compare, next_day

pytestmark = pytest.mark.slow  # one play for all of them

ROOT = Path(__file__).parents[2]
SHARED = Path("/var/lib/feedmill")  # where root's databases lie
DEADLINE_SECONDS = 300


@pytest.fixture(scope="module")
def played(tmp_path_factory):
    """The finished process, and the folder that was its whole world."""
    world = tmp_path_factory.mktemp("world")
    for name in ("home", "data", "tmp"):
        (world / name).mkdir()
    unset = ("FEEDMILL_", "PREFECT_", "CREDENTIAL_", "XDG_")
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(unset)}
    places = {"HOME": world / "home", "FEEDMILL_HOME": world / "data", "TMPDIR": world / "tmp"}
    done = subprocess.run(
        [sys.executable, "-m", "feedmill", "demo", "--json"],
        cwd=ROOT,
        env={**inherited, **{name: str(path) for name, path in places.items()}, "COLUMNS": "160"},  # no heading folded
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=DEADLINE_SECONDS,
        check=False,
    )
    return done, world


def test_demo_ends_well_and_prints_one_document(played):
    done, _ = played
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr
    document = json.loads(done.stdout)
    assert (len(document["runs"]), document["folder"]) == (6, None)


def test_demo_finds_what_the_simulator_changed(played):
    first, second, third, *_ = json.loads(played[0].stdout)["runs"]
    day_one = make_catalogue(demo._SEED, demo.PRODUCTS)
    day_two = next_day(day_one, seed=demo._SEED)
    changes = compare(day_one, day_two)
    assert [run["status"] for run in (first, second, third)] == ["SUCCEEDED"] * 3

    size = len(day_one.products)
    loaded = {"rows_read": size, "products_created": size, "prices_written": size, "products_vanished": 0}
    assert {name: first[name] for name in loaded} == loaded

    known = len(day_two.products) - changes.new
    found = {
        "rows_read": len(day_two.products),
        "products_created": changes.new,
        "products_changed": changes.retitled,
        "products_unchanged": known - changes.retitled,
        "products_vanished": changes.gone,
        "prices_written": changes.new + changes.offers_changed,
        "products_rejected": 0,
        "duplicate_key_count": 0,
    }
    assert {name: second[name] for name in found} == found
    assert (third["skipped_reason"], third["rows_read"], third["prices_written"]) == ("UNCHANGED_MTIME", None, None)


@pytest.mark.spec("002 8.2", "002 8.7")
def test_demo_holds_back_a_file_that_lost_most_of_its_rows_until_it_is_approved(played):
    _, second, *_, last = json.loads(played[0].stdout)["runs"]
    on_shelf, gone = second["rows_read"], round(demo._LOST * second["rows_read"])
    found = {
        "status": "SUCCEEDED",
        "expiry_blocked_reason": "SPIKE_THRESHOLD_EXCEEDED",
        "active_count_before": on_shelf,
        "would_expire_count": gone,
        "expiry_approved_by": "ann",
        "promotion_seq": 3,
    }
    assert {name: last[name] for name in found} == found
    share = f"{gone:,} of {on_shelf:,} products on the shelf would go, {gone / on_shelf:.1%}"
    kept = f"{last['products_upserted']:,} offers once what is gone has expired"
    for words in (share, "would go, most by brand", "would come, most by brand", "prices that would move", kept):
        assert words in played[0].stderr


def test_demo_holds_back_wrong_prices_and_stock_and_rejects_them(played):
    *_, second, _third, prices, stock, _last = json.loads(played[0].stdout)["runs"]
    assert [run["expiry_blocked_reason"] for run in (prices, stock)] == ["PRICE_FACTOR_SPIKE", "OUT_OF_STOCK_SPIKE"]
    assert [(run["expiry_rejected_by"], run["promotion_seq"]) for run in (prices, stock)] == [("ann", None)] * 2
    [reason] = prices["blocked_reasons"]
    assert reason["by_factor"] == {"100": second["rows_read"]}
    [reason] = stock["blocked_reasons"]
    assert reason["sold_out_count"] == reason["in_stock_before_count"] > 0.8 * second["rows_read"]
    for words in ("prices by the factor of their move", "near x 100", "sold out, a sample", "Rejected by ann"):
        assert words in played[0].stderr


def test_demo_tells_people_the_same(played):
    """Under --json the play is told on standard error."""
    assert "Day one: the first file" in played[0].stderr
    assert "UNCHANGED_MTIME" in played[0].stderr


def test_demo_leaves_no_process_behind(played):
    _, world = played
    deadline = time.monotonic() + 15  # of other tests, a server that is being removed looks like a lost one
    while left := [process for process in psutil.process_iter() if _is_of(process, world)]:
        assert time.monotonic() < deadline, left
        time.sleep(0.1)


def _is_of(process, world):
    """Whether a process names the folder, or serves a database of root that is its or nobody's."""
    try:
        told = [*process.cmdline(), *process.environ().values(), process.cwd()]
        is_newer = process.create_time() > world.stat().st_ctime
    except psutil.Error:
        return False
    served = {SHARED / Path(text).relative_to(SHARED).parts[0] for text in told if text.startswith(f"{SHARED}/")}
    databases = [folder for folder in served if not folder.name.startswith("postgres-")]  # but the programs
    lost = is_newer and any(_home_of(folder) is None for folder in databases)
    named = any(str(world) in text for text in (*told, *filter(None, map(_home_of, databases))))
    return process.pid != os.getpid() and (lost or named)


def _home_of(folder):
    note = folder / "home"
    return note.read_text() if note.exists() else None


def test_demo_leaves_no_folder_behind(played):
    _, world = played
    assert list((world / "tmp").iterdir()) == []
    databases = SHARED.iterdir() if SHARED.exists() else ()
    assert [folder for folder in databases if str(world) in (_home_of(folder) or "")] == []


def test_demo_touches_nothing_of_whoever_plays_it(played):
    _, world = played
    assert list((world / "data").rglob("*")) == []
    assert [path.name for path in (world / "home").rglob("*") if path.is_file()] == []
