"""A file from its bytes to the rows that a run writes: every row in one bucket, the last of an identity wins."""

import gzip
from datetime import UTC, datetime

import polars as pl
import pytest

from feedmill.simulator.catalogue import make_catalogue
from feedmill.simulator.files import write_csv
from tasks.catalogue import load
from tasks.catalogue.diff import STATE

NOW = datetime(2026, 3, 2, 12, tzinfo=UTC)
HEADER = "ItemId,SKU,Name,Url,Price\n"


@pytest.fixture
def read(tmp_path):
    def read_file(content):
        path = tmp_path / "feed"
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return load.read_file(path, max_rows=100_000)

    return read_file


def lines(*rows, header=HEADER):
    return header + "".join(f"{row}\n" for row in rows)


GOOD = "i-1,s-1,Tent,https://shop.example/1,10.00"
AWKWARD = {
    "one row": (lines(GOOD), (1, 1, 0, 0)),
    "no end of line": (lines(GOOD).rstrip("\n"), (1, 1, 0, 0)),
    "windows line ends and a byte order mark": ("\ufeff" + lines(GOOD).replace("\n", "\r\n"), (1, 1, 0, 0)),
    "gzip in two members": (gzip.compress(lines(GOOD).encode()) + gzip.compress(b"i-2,,B,https://b,1\n"), (2, 2, 0, 0)),
    "the same row three times": (lines(GOOD, GOOD, GOOD), (3, 1, 0, 2)),
    "an identity twice, the last time invalid": (lines(GOOD, "i-1,s-1,,https://a,1"), (2, 1, 1, 0)),
    "an identity twice, the first time invalid": (lines("i-1,s-1,,https://a,1", GOOD), (2, 1, 1, 0)),
    "one value as item id and as SKU": (lines("x,,A,https://a,1", ",x,B,https://b,1"), (2, 2, 0, 0)),
    "addresses that differ in tracking only": (
        lines(",,A,https://a/p?utm_source=x,1", ",,B,http://a/p/,2", ",,C,https://a/P,3"),
        (3, 2, 0, 1),
    ),
    "every rejection": (
        lines(GOOD, "2,,,https://a,1", "3,,B,,1", "4,,B,a,1", "5,,B,https://a,", "6,,B,https://a,free"),
        (6, 1, 5, 0),
    ),
    "quotes, newlines and commas in cells": (lines('i-1,s-1,"Tent, ""2P""\nred",https://a,"1,299.00"'), (1, 1, 0, 0)),
    "cells that look like nulls": (lines(r"NA,\N,null,https://a,1", r"NaN,None,\N,https://b,2"), (2, 2, 0, 0)),
    "tabs and inches": (lines(GOOD.replace("Tent", '16" Tent'), header=HEADER).replace(",", "\t"), (1, 1, 0, 0)),
    "columns that mean nothing": (
        lines(f"{GOOD},x,,y", header="ItemId,SKU,Name,Url,Price,*,,Colour\n"),
        (1, 1, 0, 0),
    ),
}  # fmt: skip


@pytest.mark.parametrize("content, buckets", AWKWARD.values(), ids=AWKWARD.keys())
def test_every_row_ends_in_one_bucket(read, content, buckets):
    loaded = read(content)
    rows_read, products, rejected, duplicates = buckets
    assert (loaded.rows_read, loaded.products.height, loaded.rejected, loaded.duplicates) == buckets
    assert rows_read == products + rejected + duplicates


def test_every_row_of_a_real_shaped_file_is_a_product(tmp_path, read):
    for number, options in enumerate(({}, {"style": "impact-sku", "delimiter": "\t"}, {"redirect": False})):
        path = tmp_path / f"{number}.csv.gz"
        written = write_csv(make_catalogue(3, 500), path, **options)
        loaded = read(path.read_bytes())
        assert (loaded.rows_read, loaded.products.height, loaded.samples) == (written, written, [])


@pytest.mark.spec("002 7.5")
def test_last_row_of_an_identity_wins_over_the_whole_file(read):
    """Farther apart than a batch, so the outcome cannot depend on its size."""
    between = [f"b-{number},,B,https://shop.example/b{number},1" for number in range(load.BATCH_ROWS + 10)]
    loaded = read(lines("i-1,s-1,First,https://a,1", *between, "i-1,s-1,Last,https://b,2"))
    [row] = loaded.products.filter(pl.col("identity_value") == "i-1").to_dicts()
    assert (row["title"], row["price"], loaded.duplicates) == ("Last", "2.00", 1)


@pytest.mark.spec("002 7.5")
def test_duplicates_are_sampled_where_they_stand(read):
    loaded = read(lines(GOOD, "i-2,,B,https://b,1", GOOD, GOOD))
    assert [(sample["code"], sample["row_number"]) for sample in loaded.samples] == [
        ("DUPLICATE_ROW_SAME_IDENTITY", 2),
        ("DUPLICATE_ROW_SAME_IDENTITY", 4),
    ]


def test_rejected_rows_are_counted_by_code_and_sampled(read):
    loaded = read(lines(GOOD, "i-2,,,https://b,1", "i-3,,C,https://c,free", "i-4,,D,https://d,0"))
    assert loaded.rejected_by_code == {"INVALID_PRICE": 2, "MISSING_TITLE": 1}
    assert [(sample["code"], sample["row_number"], sample["raw_row"]) for sample in loaded.samples] == [
        ("MISSING_TITLE", 3, "i-2\t\t\thttps://b\t1"),
        ("INVALID_PRICE", 4, "i-3\t\tC\thttps://c\tfree"),
        ("INVALID_PRICE", 5, "i-4\t\tD\thttps://d\t0"),
    ]
    assert all(sample["message"] for sample in loaded.samples)


def test_samples_are_bounded_in_number_and_length(read):
    bad = [f"i-{number},,{'x' * 5_000},https://b,free" for number in range(2, 200)]
    loaded = read(lines(GOOD, *bad, *[f"j-{number},,,https://b,1" for number in range(200)]))
    assert loaded.rejected_by_code == {"INVALID_PRICE": 198, "MISSING_TITLE": 200}
    codes = [sample["code"] for sample in loaded.samples]
    assert (codes.count("INVALID_PRICE"), codes.count("MISSING_TITLE")) == (100, 100)
    assert max(len(sample["raw_row"]) for sample in loaded.samples) == 2_000


def test_file_without_a_usable_row_is_refused_with_the_commonest_reason(read):
    with pytest.raises(load.NoUsableRowError, match="none of the 3 rows can be used; most often the row has no price"):
        read(lines("i-1,,A,https://a,", "i-2,,,https://b,1", "i-3,,C,https://c,"))


def test_one_strange_cell_does_not_spoil_the_file(read):
    """A full-width 5 is a digit to a regular expression and not to a number."""
    loaded = read(lines(GOOD, "i-2,,B,https://b,\N{FULLWIDTH DIGIT FIVE}"))
    assert (loaded.products.height, loaded.rejected_by_code) == (1, {"INVALID_PRICE": 1})


def test_separator_inside_a_cell_is_not_a_separator_of_the_fingerprint(read):
    header = "SKU,Name,Url,Price,Brand,Category\n"
    one = read(lines("1,T,https://a,1,x\x1fy,z", header=header))
    other = read(lines("1,T,https://a,1,x,y\x1fz", header=header))
    assert one.products["fingerprint"][0] != other.products["fingerprint"][0]


def test_url_hash_fallbacks_are_counted(read):
    loaded = read(lines(GOOD, ",s-2,B,https://b,1", ",,C,https://c,1", ",,D,https://d,1"))
    assert loaded.url_hash_fallbacks == 2


def test_what_was_detected_is_told(read):
    detected = read(lines(GOOD)).detected
    assert (detected["compression"], detected["encoding"], detected["delimiter"]) == ("NONE", "utf-8", ",")
    assert detected["columns"] == {
        "impact_item_id": "ItemId", "sku": "SKU", "title": "Name", "url": "Url", "list_price": "Price",
    }  # fmt: skip


def test_batches_hold_every_product_once_and_in_order(read):
    loaded = read(lines(*[f"i-{number},,B,https://b,1" for number in range(7)]))
    values = [batch["identity_value"].to_list() for batch in load.batches(loaded.products, size=3)]
    assert [len(batch) for batch in values] == [3, 3, 1]
    assert [value for batch in values for value in batch] == [f"i-{number}" for number in range(7)]


def test_only_what_changed_is_written(read):
    loaded = read(lines(GOOD, "i-2,,B,https://b,1", "i-3,,C,https://c,1", "i-4,,D,https://d,1"))
    first = load.changes(loaded, pl.DataFrame(schema=STATE), now=NOW, heartbeat_hours=24)
    assert load.writes(first).height == 4
    known = first.select(
        product_id=pl.int_range(1, 5, dtype=pl.Int64),
        identity_type="identity_type",
        identity_value="identity_value",
        known_fingerprint=pl.col("fingerprint") + (pl.col("identity_value") == "i-2"),
        known_version=pl.col("fingerprint_version").cast(pl.Int64),
        last_signature=pl.when(pl.col("identity_value") == "i-3").then(pl.lit("other")).otherwise("signature"),
        last_priced_at=pl.lit(NOW).cast(STATE["last_priced_at"]),
    )
    written = load.writes(load.changes(loaded, known, now=NOW, heartbeat_hours=24))
    assert written.select("identity_value", "is_changed", "price_reason").rows() == [
        ("i-2", True, None),
        ("i-3", False, "changed"),
    ]
