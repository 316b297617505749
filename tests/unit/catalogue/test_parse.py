"""What the bytes of a file are, and their records as they stand."""

import gzip

import pytest

from tasks.catalogue import parse
from tasks.catalogue.parse import Dialect, EmptyFileError, RowLimitError, UnreadableFileError

HEADER = "SKU,Name,Price\n"
LONG_ENOUGH = 70_000  # more than is looked at to find out what a file is


@pytest.fixture
def file(tmp_path):
    """A file with this content."""

    def write(content):
        path = tmp_path / "feed"
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    return write


def read(path, *, max_rows=1_000):
    return parse.read_rows(path, parse.detect(path), max_rows=max_rows)


@pytest.mark.parametrize(
    "content, expected",
    [
        pytest.param("a,b\n1,2\n", Dialect("NONE", "utf-8", ",", '"'), id="commas"),
        pytest.param("a\tb\n1\t2\n", Dialect("NONE", "utf-8", "\t", None), id="tabs, which are not quoted"),
        pytest.param('"a"\t"b"\n1\t2\n', Dialect("NONE", "utf-8", "\t", '"'), id="tabs with a quoted header"),
        pytest.param("a;b,c;d\n", Dialect("NONE", "utf-8", ";", '"'), id="semicolons, one comma"),
        pytest.param("a|b\n1,5|2,5\n", Dialect("NONE", "utf-8", "|", '"'), id="pipes, commas in the data"),
        pytest.param("\ufeffa,b\n1,2\n", Dialect("NONE", "utf-8", ",", '"'), id="a byte order mark"),
        pytest.param(gzip.compress(b"a,b\n1,2\n"), Dialect("GZIP", "utf-8", ",", '"'), id="gzip"),
    ],
)
def test_detect_tells_what_a_file_is(file, content, expected):
    assert parse.detect(file(content)) == expected


def test_detect_is_not_misled_by_a_character_at_the_end_of_what_it_reads(file):
    start = "a,b\nx,"
    text = start + "é" * LONG_ENOUGH + "\n"
    for shift in ("", "x"):  # one of the two cuts a character in half
        assert parse.detect(file(shift + text)).delimiter == ","


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(b"", id="no byte"),
        pytest.param(b" \r\n\n", id="blank lines"),
        pytest.param(gzip.compress(b""), id="nothing in gzip"),
        pytest.param(HEADER, id="a header only"),
        pytest.param(HEADER.strip(), id="a header without an end of line"),
        pytest.param(gzip.compress(HEADER.encode()), id="a header only in gzip"),
    ],
)
def test_file_without_data_rows_is_empty(file, content):
    with pytest.raises(EmptyFileError) as refused:
        read(file(content))
    assert refused.value.code == "EMPTY_FILE"


@pytest.mark.parametrize(
    "content, said",
    [
        pytest.param(bytes(range(256)), "zero bytes", id="binary"),
        pytest.param("a,b\n1,2\n".encode("utf-16"), "not", id="UTF-16"),
        pytest.param("a,b\ncafé,2\n".encode("cp1252"), "byte 7 of the file is not UTF-8", id="cp1252"),
        pytest.param("Names\nA\n", "no comma, tab, semicolon or pipe", id="one column"),
        pytest.param(gzip.compress(b"a,b\n1,2\n")[:-6], "cannot be inflated", id="gzip that ends early"),
        pytest.param(HEADER + "1,A,1.00\n2,B,2.00,more\n", "cannot be read", id="a row with a cell too many"),
        pytest.param(HEADER + '1,"A,1.00\n2,B,2.00\n', "cannot be read", id="a quote that never ends"),
        pytest.param(
            (HEADER + "1,A,1.00\n" * (LONG_ENOUGH // 9) + "2,café,2.00\n").encode("cp1252"),
            "cannot be read",
            id="cp1252 far behind the start",
        ),
    ],
)
def test_file_that_is_no_delimited_text_is_refused(file, content, said):
    with pytest.raises(UnreadableFileError, match=said) as refused:
        read(file(content), max_rows=100_000)
    assert refused.value.code == "PARSE_ERROR"
    assert "\n" not in refused.value.message


def test_read_rows_keeps_texts_as_they_stand(file):
    rows = read(file('SKU,Name,Price\n007,"Tent, ""Fjäll""\n2P", 1e3 \n,NA,\n'))
    assert rows["SKU"].to_list() == ["007", None]
    assert rows["Name"].to_list() == ['Tent, "Fjäll"\n2P', "NA"]
    assert rows["Price"].to_list() == [" 1e3 ", None]


def test_read_rows_numbers_rows_as_a_spreadsheet_does(file):
    assert read(file(HEADER + "1,A,1\n2,B,2\n3,C,3\n"))[parse.ROW].to_list() == [2, 3, 4]


def test_read_rows_leaves_a_byte_order_mark_out_of_the_header(file):
    assert read(file("\ufeff" + HEADER + "1,A,1\n")).columns[1:] == ["SKU", "Name", "Price"]


def test_read_rows_takes_windows_line_ends(file):
    assert read(file((HEADER + "1,A,1.00\n").replace("\n", "\r\n")))["Price"].to_list() == ["1.00"]


def test_read_rows_without_quoting_keeps_inches(file):
    rows = read(file('SKU\tName\n1\t16" barrel\n2\t"best"\n'))
    assert rows["Name"].to_list() == ['16" barrel', '"best"']


def test_read_rows_takes_every_member_of_a_gzip_file(file):
    packed = gzip.compress((HEADER + "1,A,1\n").encode()) + gzip.compress(b"2,B,2\n")
    assert read(file(packed))["SKU"].to_list() == ["1", "2"]


def test_read_rows_takes_a_column_of_any_name(file):
    """`row_number` is a name of ours."""
    assert read(file("row_number,*,^.*$,SKU\n1,2,3,4\n"))["SKU"].to_list() == ["4"]


@pytest.mark.parametrize("max_rows, refused", [(3, False), (2, True)], ids=["just enough", "one row too many"])
def test_read_rows_refuses_more_rows_than_allowed(file, max_rows, refused):
    path = file(HEADER + "1,A,1\n2,B,2\n3,C,3\n")
    if not refused:
        assert read(path, max_rows=max_rows).height == 3
        return
    with pytest.raises(RowLimitError, match="3 rows, more than the 2") as refusal:
        read(path, max_rows=max_rows)
    assert refusal.value.code == "ROW_COUNT_LIMIT_EXCEEDED"
