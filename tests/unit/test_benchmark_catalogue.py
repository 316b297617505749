"""The files that the catalogue is measured with, and the figures made from what was measured."""

import csv
import gzip
import io

from benchmarks.catalogue import files, table
from tasks.catalogue import load

ROWS = 3_000


def read(path):
    with gzip.open(path, "rt", encoding="utf-8", newline="") as text:
        return list(csv.DictReader(text))


def test_write_makes_the_same_rows_with_other_bytes_and_with_other_prices(tmp_path):
    made = files.write(tmp_path, ROWS)
    base, same, changed = (read(made[step]) for step in ("first", "same", "changed"))
    assert len(base) == ROWS
    assert same == base
    assert made["same"].read_bytes() != made["first"].read_bytes()
    others = [(old, new) for old, new in zip(base, changed, strict=True) if old != new]
    assert 0.08 * ROWS < len(others) < 0.12 * ROWS
    assert all({**old, "Current_Price": new["Current_Price"]} == new for old, new in others)


def test_write_gives_every_row_a_product_of_its_own(tmp_path):
    for file in files.write(tmp_path, ROWS).values():
        loaded = load.read_file(file, max_rows=ROWS)
        assert (loaded.products.height, loaded.rejected, loaded.duplicates) == (ROWS, 0, 0)


def test_write_quotes_as_a_csv_writer_does(tmp_path):
    file = files.write(tmp_path, ROWS)["first"]
    rows, text = read(file), io.StringIO(newline="")
    writer = csv.DictWriter(text, rows[0], lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    written = gzip.decompress(file.read_bytes()).decode()
    assert written == text.getvalue()
    assert '""' in written


def test_write_depends_on_the_seed_alone(tmp_path, monkeypatch):
    first = read(files.write(tmp_path / "a", ROWS)["first"])
    monkeypatch.setattr(files, "PIECE_ROWS", 700)
    assert read(files.write(tmp_path / "b", ROWS)["first"]) == first
    assert read(files.write(tmp_path / "c", ROWS, seed=1)["first"]) != first


def sample(contender, step, seconds, **details):
    measured = {"seconds": seconds, "wal_mb": 2 * seconds, "peak_mb": 100 + seconds, "before_mb": 90}
    return {"contender": contender, "step": step, "details": details, **measured}


def test_medians_are_taken_over_rounds_and_held_against_every_load_of_the_floor():
    floor = [sample("floor", step, seconds, csv_bytes=10) for step, seconds in (("first", 1), ("same", 2), ("same", 9))]
    ours = [sample("feedmill", "first", seconds, load=seconds) for seconds in (4, 3, 8)]
    found = table.medians([*floor, *ours], 1_000)
    assert found["floor"]["seconds"] == 2
    first = found["feedmill"]["first"]
    assert (first["seconds"], first["times_floor"], first["wal_mb"], first["peak_mb"]) == (4, 2.0, 8, 108)
    assert first["parts"] == {"load": 4}


def test_compared_says_how_many_times_longer_others_take_and_many_rows_than_few():
    few = {"feedmill": {"changed": {"seconds": 2}}, "dlt_rows": {"changed": {"seconds": 14}}}
    many = {"feedmill": {"changed": {"seconds": 21}}}
    found = table.compared({"500000": few, "5000000": many})
    assert found["500000"] == {"dlt_rows": {"changed": 7.0}}
    assert found["scale"] == {"changed": 10.5}
