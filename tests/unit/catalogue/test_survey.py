"""The first pass over a file: every row in one bucket, the last of an identity wins."""

import codecs
import gzip

import polars as pl
import pytest

from feedmill.simulator.catalogue import make_catalogue
from feedmill.simulator.files import write_csv
from tasks.catalogue import records, stream
from tasks.catalogue.mapping import ColumnsMissingError
from tasks.catalogue.parse import Limits
from tasks.catalogue.survey import NoUsableRowError, ProductLimitError
from tasks.errors import FileTooLargeError
from tests.delivered import GOOD, HEADER, lines, rows, survey, write


@pytest.fixture
def read(tmp_path):
    def read_file(content, **options):
        return survey(write(tmp_path, content), **options)

    return read_file


AWKWARD = {
    "one row": (lines(GOOD), (1, 1, 0, 0)),
    "no end of line": (lines(GOOD).rstrip("\n"), (1, 1, 0, 0)),
    "windows line ends and a byte order mark": ("\ufeff" + lines(GOOD).replace("\n", "\r\n"), (1, 1, 0, 0)),
    "returns alone": (lines(GOOD).replace("\n", "\r"), (1, 1, 0, 0)),
    "blank lines everywhere": ("\n\n" + lines(GOOD, "", "i-2,,B,https://b,1", "", ""), (2, 2, 0, 0)),
    "UTF-16": (codecs.BOM_UTF16_LE + lines(GOOD).encode("utf-16-le"), (1, 1, 0, 0)),
    "cp1252": (lines(GOOD.replace("Tent", "Zelt für 2")).encode("cp1252"), (1, 1, 0, 0)),
    "zero bytes": (lines(GOOD.replace("Tent", "Te\x00nt")), (1, 1, 0, 0)),
    "gzip in two members": (gzip.compress(lines(GOOD).encode()) + gzip.compress(b"i-2,,B,https://b,1\n"), (2, 2, 0, 0)),
    "the same row three times": (lines(GOOD, GOOD, GOOD), (3, 1, 0, 2)),
    "an identity twice, the last time invalid": (lines(GOOD, "i-1,s-1,,https://a,1"), (2, 1, 1, 0)),
    "an identity twice, the first time invalid": (lines("i-1,s-1,,https://a,1", GOOD), (2, 1, 1, 0)),
    "an identity twice, the last time ragged": (lines(GOOD, f"{GOOD},"), (2, 1, 1, 0)),
    "one value as item id and as SKU": (lines("x,,A,https://a,1", ",x,B,https://b,1"), (2, 2, 0, 0)),
    "addresses that differ in tracking only": (
        lines(",,A,https://a/p?utm_source=x,1", ",,B,http://a/p/,2", ",,C,https://a/P,3"),
        (3, 2, 0, 1),
    ),
    "every rejection": (
        lines(GOOD, "2,,,https://a,1", "3,,B,,1", "4,,B,a,1", "5,,B,https://a,", "6,,B,https://a,free", "7,B", '8,"B'),
        (8, 1, 7, 0),
    ),
    "the header again": (lines(GOOD, HEADER.strip(), GOOD), (3, 1, 1, 1)),
    "quotes, newlines and commas in cells": (lines('i-1,s-1,"Tent, ""2P""\nred",https://a,"1,299.00"'), (1, 1, 0, 0)),
    "cells that look like nulls": (lines(r"NA,\N,null,https://a,1", r"NaN,None,\N,https://b,2"), (2, 2, 0, 0)),
    "tabs and inches": (lines(GOOD.replace("Tent", '16" Tent'), header=HEADER).replace(",", "\t"), (1, 1, 0, 0)),
    "commas and inches": (lines(GOOD.replace("Tent", '16" Tent'), 'i-2,,"7"" x",https://b,1'), (2, 2, 0, 0)),
    "columns that mean nothing": (
        lines(f"{GOOD},x,,y", header="ItemId,SKU,Name,Url,Price,*,,Colour\n"),
        (1, 1, 0, 0),
    ),
    "columns of one name": (lines(f",{GOOD}", header=f"Name,{HEADER}"), (1, 1, 0, 0)),
}  # fmt: skip
AWKWARD["1,299.00 is one price"] = (lines('i-1,,Tent,https://a,"1,299.00"', GOOD), (2, 1, 0, 1))


@pytest.mark.parametrize("content, buckets", AWKWARD.values(), ids=AWKWARD.keys())
@pytest.mark.parametrize("block", [None, 13], ids=["one block", "small blocks"])
def test_every_row_ends_in_one_bucket(read, monkeypatch, block, content, buckets):
    if block:
        monkeypatch.setattr(stream, "BLOCK_BYTES", block)
        monkeypatch.setattr(records, "MOST_RECORD_BYTES", 100)
    surveyed = read(content)
    assert (surveyed.rows_read, surveyed.products.height, surveyed.rejected, surveyed.duplicates) == buckets


def test_every_row_of_a_real_shaped_file_is_a_product(tmp_path, read):
    for number, options in enumerate(({}, {"style": "impact-sku", "delimiter": "\t"}, {"redirect": False})):
        path = tmp_path / f"{number}.csv.gz"
        written = write_csv(make_catalogue(3, 500), path, **options)
        surveyed = read(path.read_bytes())
        assert (surveyed.rows_read, surveyed.products.height, surveyed.samples) == (written, written, [])


@pytest.mark.spec("002 7.5")
@pytest.mark.spec("002 4.2.2")
def test_last_row_of_an_identity_wins_over_the_whole_file(read):
    """Farther apart than a batch or a block, so the outcome cannot depend on their size."""
    between = [f"b-{n},,B,https://shop.example/b{n},1" for n in range(120_000)]
    first, last = "i-1,s-1,First,https://a,1", "i-1,s-1,Last,https://b,2"
    surveyed = read(lines(first, *between, last), limits=Limits(max_rows=200_000, max_bytes=10_000_000))
    [row] = surveyed.products.filter(pl.col("identity_value") == "i-1").to_dicts()
    assert (row["row_number"], row["price"], surveyed.duplicates) == (120_003, 20_000, 1)
    assert surveyed.samples[0]["raw_row"] == first


@pytest.mark.spec("002 7.5")
def test_duplicates_are_sampled_where_they_stand(read):
    surveyed = read(lines(GOOD, "i-2,,B,https://b,1", "ragged", f"{GOOD}0", GOOD))
    assert [(sample["code"], sample["row_number"], sample["raw_row"]) for sample in surveyed.samples] == [
        ("RAGGED_ROW", 4, "ragged"),
        ("DUPLICATE_ROW_SAME_IDENTITY", 2, GOOD),
        ("DUPLICATE_ROW_SAME_IDENTITY", 5, f"{GOOD}0"),
    ]


def test_rejected_rows_are_counted_by_code_and_sampled(read):
    surveyed = read(lines(GOOD, "i-2,,,https://b,1", 'i-3,,"C\nD",https://c,free', "i-4,,D,https://d,0"))
    assert surveyed.rejected_by_code == {"INVALID_PRICE": 2, "MISSING_TITLE": 1}
    assert [(sample["code"], sample["row_number"], sample["raw_row"]) for sample in surveyed.samples] == [
        ("MISSING_TITLE", 3, "i-2,,,https://b,1"),
        ("INVALID_PRICE", 4, 'i-3,,"C\nD",https://c,free'),
        ("INVALID_PRICE", 5, "i-4,,D,https://d,0"),
    ]
    assert all(sample["message"] for sample in surveyed.samples)


@pytest.mark.parametrize("odd", ["", "ragged"], ids=["regular", "beside a ragged row"])
def test_samples_are_bounded_in_number_and_length(read, monkeypatch, odd):
    monkeypatch.setattr(stream, "BLOCK_BYTES", 100_000)  # several pieces
    monkeypatch.setattr(records, "MOST_RECORD_BYTES", 20_000)
    bad = [f"i-{n},,{'é' * 2_500},https://b,free" for n in range(2, 200)]
    surveyed = read(lines(GOOD, *bad, odd, *[f"j-{n},,,https://b,1" for n in range(200)], *[GOOD] * 150))
    assert surveyed.rejected_by_code == {"INVALID_PRICE": 198, "MISSING_TITLE": 200} | (
        {"RAGGED_ROW": 1} if odd else {}
    )
    assert surveyed.duplicates == 150
    codes = [sample["code"] for sample in surveyed.samples]
    limited = ("INVALID_PRICE", "MISSING_TITLE", "DUPLICATE_ROW_SAME_IDENTITY")
    assert [codes.count(code) for code in limited] == [100, 100, 100]
    assert max(len(sample["raw_row"].encode()) for sample in surveyed.samples) in (2_047, 2_048)  # no half characters
    assert all("\ufffd" not in sample["raw_row"] for sample in surveyed.samples)


def test_file_without_a_usable_row_is_refused_with_the_commonest_reason(read):
    with pytest.raises(
        NoUsableRowError, match="none of the 3 rows can be used; most often the row has no price"
    ) as refused:
        read(lines("i-1,,A,https://a,", "i-2,,,https://b,1", "i-3,,C,https://c,"))
    assert refused.value.code == "NO_USABLE_ROWS"


def test_file_of_broken_rows_only_is_refused(read):
    with pytest.raises(NoUsableRowError, match="more or fewer cells than the header"):
        read(lines("i-1,A", "i-2,B,,,,,", '"'))


def test_file_without_a_header_is_refused(read):
    with pytest.raises(ColumnsMissingError) as refused:
        read(lines(*rows(3), header=""))
    assert "its first row does not look like a header: i-1, s-1" in refused.value.hint


def test_one_strange_cell_does_not_spoil_the_file(read):
    """A full-width 5 is a digit to a regular expression and not to a number."""
    surveyed = read(lines(GOOD, "i-2,,B,https://b,\N{FULLWIDTH DIGIT FIVE}"))
    assert (surveyed.products.height, surveyed.rejected_by_code) == (1, {"INVALID_PRICE": 1})


def test_encoding_and_decimal_sign_may_both_be_found_out_late(read):
    many = [f'i-{n},,Tent,https://a/{n},"{n},50"' for n in range(1, 10_000)]
    surveyed = read(lines(*many, 'i-0,,Zelt für 2,https://a,"1.299,00"').encode("cp1252"))
    assert (surveyed.reading.dialect.encoding, surveyed.reading.dialect.decimal) == ("cp1252", ",")
    assert (surveyed.products["price"][0], surveyed.products["price"][-1]) == (15_000, 12_990_000)


def test_separator_inside_a_cell_is_not_a_separator_of_the_fingerprint(read):
    header = "SKU,Name,Url,Price,Brand,Category\n"
    one = read(lines("1,T,https://a,1,x\x1fy,z", header=header))
    other = read(lines("1,T,https://a,1,x,y\x1fz", header=header))
    assert one.products["fingerprint"][0] != other.products["fingerprint"][0]


def test_url_hash_fallbacks_are_counted_by_product(read):
    same = ",,C,https://c,1"
    assert read(lines(GOOD, ",s-2,B,https://b,1", same, same, ",,D,https://d,1")).url_hash_fallbacks == 2


def test_what_was_detected_is_told(read):
    document = read(lines(f"{GOOD},x", header=HEADER.replace("\n", ",Colour\n"))).reading.document()
    assert (document["compression"], document["encoding"], document["delimiter"]) == ("NONE", "utf-8", ",")
    assert document["columns"] == {
        "impact_item_id": ["ItemId"], "sku": ["SKU"], "title": ["Name"], "url": ["Url"], "list_price": ["Price"],
    }  # fmt: skip
    assert document["unused_columns"] == ["Colour"]


@pytest.mark.spec("002 7.3.1")
def test_more_products_than_allowed_are_refused(read):
    content = lines(*rows(3), *rows(3))
    assert read(content, max_products=3).products.height == 3
    with pytest.raises(ProductLimitError, match="3 products, more than the 2 that this feed allows") as refused:
        read(content, max_products=2)
    assert refused.value.code == "UNIQUE_PRODUCT_LIMIT_EXCEEDED"


@pytest.mark.spec("002 7.3.1")
def test_more_inflated_bytes_than_allowed_are_refused(read):
    with pytest.raises(FileTooLargeError) as refused:
        read(gzip.compress(lines(*rows(100)).encode()), limits=Limits(max_rows=100, max_bytes=1_000))
    assert refused.value.code == "FILE_SIZE_LIMIT_EXCEEDED"


def test_progress_is_told_in_rows(read):
    told = []
    read(lines(*rows(10), "ragged"), on_rows=told.append)
    assert told[-1] == 11


def test_inflated_bytes_are_those_of_the_text(read):
    content = lines(*rows(10))
    assert read(gzip.compress(content.encode())).inflated_bytes == len(content)
