"""What the bytes of a file are: compression, encoding, delimiter, quotes, ends of lines."""

import bz2
import codecs
import gzip
import lzma
import zlib

import pytest

from tasks.catalogue.dialect import PROBE_BYTES, Dialect, EmptyFileError, UnreadableFileError, detect
from tests.delivered import write

TEXT = "a,b\n1,2\n3,4\n"


@pytest.mark.parametrize(
    "content, expected",
    [
        pytest.param("a,b\n1,2\n", Dialect(), id="commas"),
        pytest.param("a\tb\n1\t2\n", Dialect(delimiter="\t", quote=None), id="tabs, which are not quoted"),
        pytest.param('"a"\t"b"\n1\t2\n', Dialect(delimiter="\t"), id="tabs with a quoted header"),
        pytest.param("a;b,c;d\n", Dialect(delimiter=";"), id="semicolons, one comma"),
        pytest.param("a|b\n1,5|2,5\n", Dialect(delimiter="|"), id="pipes, commas in the data"),
        pytest.param('"a, with, commas";b\n', Dialect(delimiter=";"), id="commas within a quoted name"),
        pytest.param("\ufeffa,b\n1,2\n", Dialect(), id="a byte order mark"),
        pytest.param(gzip.compress(b"a,b\n1,2\n"), Dialect("GZIP"), id="gzip"),
        pytest.param(gzip.compress(b"") + gzip.compress(b"a,b\n"), Dialect("GZIP"), id="an empty member of gzip first"),
        pytest.param("\r\n\r\na,b\r\n1,2\r\n", Dialect(), id="blank lines first"),
        pytest.param("a,b\r1,2\r3,4\r", Dialect(line_end="\r"), id="carriage returns alone"),
        pytest.param("a,b\r\n1,2\r\n", Dialect(), id="windows line ends"),
        pytest.param("a,b\n1,x\ry\n", Dialect(), id="a carriage return within a line"),
        pytest.param(codecs.BOM_UTF16_LE + TEXT.encode("utf-16-le"), Dialect(encoding="utf-16-le"), id="marked LE"),
        pytest.param(codecs.BOM_UTF16_BE + TEXT.encode("utf-16-be"), Dialect(encoding="utf-16-be"), id="marked BE"),
        pytest.param(TEXT.encode("utf-16-le"), Dialect(encoding="utf-16-le"), id="UTF-16 LE"),
        pytest.param(TEXT.encode("utf-16-be"), Dialect(encoding="utf-16-be"), id="UTF-16 BE"),
        pytest.param("a,b\n10,\x002 and more\n" * 20, Dialect(), id="a zero byte now and then"),
    ],
)  # fmt: skip
def test_detect_tells_what_a_file_is(tmp_path, content, expected):
    assert detect(write(tmp_path, content)) == expected


def test_detect_looks_at_the_bytes_and_not_at_the_name(tmp_path):
    for name, content, compression in (
        ("feed.csv", gzip.compress(TEXT.encode()), "GZIP"),
        ("feed.csv.gz", TEXT.encode(), "NONE"),
    ):
        (tmp_path / name).write_bytes(content)
        assert detect(tmp_path / name).compression == compression


@pytest.mark.parametrize(
    "lines, quote",
    [
        pytest.param(['1\t16" barrel', '2\t"best"'], None, id="inches, and a title in quotes"),
        pytest.param(['1\t"16"" barrel"'], '"', id="a doubled quote"),
        pytest.param(['1\t"two\nlines"', "2\tone"], '"', id="a line end in quotes"),
        pytest.param(['1\t"a\ttab"', "2\tnone"], '"', id="a tab in quotes"),
        pytest.param(['1\t"16', "2\tshort\trow"], None, id="a quote that does not close, and a ragged row"),
        pytest.param(['1\t"16', "", "2\t" + "x" * 140_000 + "\t"], None, id="a quoted cell without end"),
        pytest.param(['1\t"16', "2\tstray\rreturn\t"], None, id="a stray carriage return"),
    ],
)
@pytest.mark.parametrize("start", ["", "\n"], ids=["", "behind a blank line"])
def test_detect_believes_in_quotes_of_a_tab_file_only_where_they_explain_something(tmp_path, start, lines, quote):
    assert detect(write(tmp_path, start + "\n".join(["SKU\tName", *lines, ""]))).quote == quote


def test_detect_is_not_misled_by_a_character_at_the_end_of_what_it_reads(tmp_path):
    text = "a,b\nx," + "é" * PROBE_BYTES + "\n"
    for shift in ("", "x"):  # one of the two cuts a character in half
        assert detect(write(tmp_path, shift + text)) == Dialect()


@pytest.mark.parametrize(
    "content",
    [b"", b" \r\n\n", gzip.compress(b""), b"\xef\xbb\xbf", codecs.BOM_UTF16_LE, b"\r\r\r"],
    ids=["no byte", "blank lines", "nothing in gzip", "a mark only", "a mark of UTF-16 only", "returns only"],
)
def test_detect_refuses_an_empty_file(tmp_path, content):
    with pytest.raises(EmptyFileError) as refused:
        detect(write(tmp_path, content))
    assert refused.value.code == "EMPTY_FILE"


@pytest.mark.parametrize(
    "content, said",
    [
        pytest.param(bytes(range(256)) + bytes(100), "zero bytes", id="binary"),
        pytest.param(bytes(range(256)) * 20, "control characters", id="every byte there is"),
        pytest.param("Names\nA\n", "no comma, tab, semicolon or pipe", id="one column"),
        pytest.param("<!DOCTYPE html>\n<p>Sorry</p>\n", "no comma, tab, semicolon or pipe", id="a page"),
        pytest.param(gzip.compress(gzip.compress(TEXT.encode())), "gzip inside gzip", id="gzip in gzip"),
        pytest.param(gzip.compress(TEXT.encode())[:-6], "cannot be inflated: it ends early", id="gzip that ends early"),
        pytest.param(b"\x1f\x8b\x08" + b"\xff" * 30, "cannot be inflated", id="gzip that is none"),
        pytest.param(b"PK\x03\x04rest", "a zip archive", id="zip"),
        pytest.param(bz2.compress(TEXT.encode()), "bzip2", id="bzip2"),
        pytest.param(lzma.compress(TEXT.encode()), "xz", id="xz"),
        pytest.param(zlib.compress(TEXT.encode()), "not text|no comma", id="zlib without gzip"),
    ],
)
def test_detect_refuses_what_is_no_delimited_text(tmp_path, content, said):
    with pytest.raises(UnreadableFileError, match=said) as refused:
        detect(write(tmp_path, content))
    assert refused.value.code == "PARSE_ERROR"
    assert "\n" not in refused.value.message
