"""Faults on request: seeded, and each changes the file in its own way."""

import csv
import gzip
from dataclasses import replace

import pytest

from feedmill.simulator.catalogue import make_catalogue
from feedmill.simulator.faults import FAULTS, write_faulty
from feedmill.simulator.files import write_csv

GOOD = make_catalogue(7, 300)


@pytest.fixture(scope="module")
def good(tmp_path_factory):
    path = tmp_path_factory.mktemp("good") / "feed.csv"
    write_csv(GOOD, path)
    return read(path)


def read(path):
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


@pytest.mark.parametrize("name", FAULTS)
def test_fault_is_the_same_twice_and_not_the_good_file(name, tmp_path):
    once, again = (write_faulty(name, GOOD, tmp_path / f"{turn}.csv").read_bytes() for turn in "ab")
    plain = tmp_path / ("good.csv.gz" if FAULTS[name].is_packed else "good.csv")
    write_csv(GOOD, plain)
    assert once == again != plain.read_bytes()


@pytest.mark.parametrize("name", FAULTS)
def test_fault_says_what_stops_it_or_what_happens(name):
    fault = FAULTS[name]
    assert bool(fault.stopped_by) != bool(fault.note)
    assert fault.title


@pytest.mark.parametrize(
    "name, factor", [("cents_for_units", 100), ("decimal_comma_lost", 100), ("units_for_cents", 0.01)]
)
def test_prices_are_off_by_a_factor_in_every_row(good, tmp_path, name, factor):
    bad = read(write_faulty(name, GOOD, tmp_path / "feed.csv"))
    for right, wrong in zip(good, bad, strict=True):
        for column in ("Current_Price", "Original_Price"):
            assert float(wrong[column]) == pytest.approx(float(right[column]) * factor, abs=0.0051)


def test_decimal_comma_lost_after_a_dropped_zero_is_a_factor_of_ten(tmp_path):
    ends = [replace(GOOD.products[0], price_cents=cents) for cents in (12_999, 12_990, 12_900)]
    bad = read(write_faulty("decimal_comma_lost", replace(GOOD, products=tuple(ends)), tmp_path / "feed.csv"))
    assert [row["Current_Price"] for row in bad] == ["12999", "1299", "129"]


def test_some_cents_for_units_hits_one_price_in_twenty(good, tmp_path):
    bad = read(write_faulty("some_cents_for_units", GOOD, tmp_path / "feed.csv"))
    assert sum(right != wrong for right, wrong in zip(good, bad, strict=True)) == 15


def test_duplicated_ids_share_what_differs_in_size_only(good, tmp_path):
    bad = read(write_faulty("duplicated_ids", GOOD, tmp_path / "feed.csv"))
    assert len(bad) == len(good)
    assert len({row["CatalogItemId"] for row in bad}) == len({row["Image_URL"] for row in good}) < len(good) / 2


def test_truncated_gzip_breaks_off(tmp_path):
    path = write_faulty("truncated_gzip", GOOD, tmp_path / "feed.csv")
    assert path.suffix == ".gz"
    with pytest.raises(EOFError), gzip.open(path) as file:
        file.read()
