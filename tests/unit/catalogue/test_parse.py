"""From text to records: each one counted, numbered and taken apart, or kept as it stands."""

import polars as pl
import pytest

from tasks import files
from tasks.catalogue import parse, records, stream
from tasks.catalogue.dialect import EmptyFileError, UnreadableFileError, detect
from tasks.catalogue.parse import Limits, RowLimitError, RowsLostError
from tests.delivered import GOOD, HEADER, LIMITS, cells, lines, rows, survey, write

START = "SKU,Name,Price\n"


@pytest.fixture
def read(tmp_path):
    """Header, good records, broken records of a file with this content."""

    def read_file(content, *, limits=LIMITS):
        path = write(tmp_path, content)
        return cells(path, detect(path), limits=limits)

    return read_file


@pytest.fixture(params=["in one block", "in small blocks"])
def _any_block(request, monkeypatch):
    """The same text, with a piece for every few records or for all of them."""
    if request.param == "in small blocks":
        monkeypatch.setattr(stream, "BLOCK_BYTES", 7)
        monkeypatch.setattr(records, "MOST_RECORD_BYTES", 100)


# Each as its header and its records; written for the oddities that public collections of CSV cases list.
CASES = {
    "plain": ("a,b,c\n1,2,3\n", ["a", "b", "c"], [["1", "2", "3"]]),
    "windows line ends": ("a,b,c\r\n1,2,3\r\n", ["a", "b", "c"], [["1", "2", "3"]]),
    "returns alone": ("a,b,c\r1,2,3\r", ["a", "b", "c"], [["1", "2", "3"]]),
    "no line end behind the last": ("a,b\n1,2\n3,4", ["a", "b"], [["1", "2"], ["3", "4"]]),
    "a comma in quotes": ('name,city\nAnn,"Lund, SE"', ["name", "city"], [["Ann", "Lund, SE"]]),
    "empty in quotes": ('a,b,c\n1,"",""\n2,3,4', ["a", "b", "c"], [["1", "", ""], ["2", "3", "4"]]),
    "empty in quotes, windows": ('a,b,c\r\n1,"",""\r\n2,3,4', ["a", "b", "c"], [["1", "", ""], ["2", "3", "4"]]),
    "empty without quotes": ("a,b,c\n,,\n2,,\n", ["a", "b", "c"], [["", "", ""], ["2", "", ""]]),
    "doubled quotes": ('a,b\n1,"so ""so"" so"\n3,4\n', ["a", "b"], [["1", 'so "so" so'], ["3", "4"]]),
    "nothing but doubled quotes": ('a,b\n2,""""""\n3,""""\n', ["a", "b"], [["2", '""'], ["3", '"']]),
    "an object in a cell": ('k,v\n1,"{""at"": [1.0, 2.5]}"\n', ["k", "v"], [["1", '{"at": [1.0, 2.5]}']]),
    "degrees and inches": ("tel,at\n5,55°42'10.5\"N 13°11'\"E\n", ["tel", "at"], [["5", "55°42'10.5\"N 13°11'\"E"]]),
    "a line end in quotes": (
        'a,b\n1,2\n"Once \nmore",5\n7,8\n',
        ["a", "b"],
        [["1", "2"], ["Once \nmore", "5"], ["7", "8"]],
    ),
    "a windows line end in quotes": (
        'a,b\r\n"Once \r\nmore",5\r\n7,8\r\n',
        ["a", "b"],
        [["Once \r\nmore", "5"], ["7", "8"]],
    ),
    "quotes and line ends": ('a,b\n1,"so \n""so"" \nso"\n3,4\n', ["a", "b"], [["1", 'so \n"so" \nso'], ["3", "4"]]),
    "doubled quotes on a line of their own": (
        'a,b\n2," \n"""" \n"\n3,4\n',
        ["a", "b"],
        [["2", ' \n"" \n'], ["3", "4"]],
    ),
    "other scripts": ("a,b\n1,ʤ\n2,鞋\n3,\U0001f97e\n", ["a", "b"], [["1", "ʤ"], ["2", "鞋"], ["3", "\U0001f97e"]]),
    "inches in a tab file": ('a\tb\n1\t16" barrel\n2\t"best"\n', ["a", "b"], [["1", '16" barrel'], ["2", '"best"']]),
    "inches within quotes in a tab file": ('a\tb\n1\t"16"" x"\n2\t7" y\n', ["a", "b"], [["1", '16" x'], ["2", '7" y']]),
    "inches in a comma file": (
        'a,b\n1,16" barrel\n2,"7"" x"\n3,9"\n',
        ["a", "b"],
        [["1", '16" barrel'], ["2", '7" x'], ["3", '9"']],
    ),
    "spaces": ('a, b\n 1 ,"  2 "\n', ["a", "b"], [[" 1 ", "  2 "]]),
    "a return within a cell": ("a,b\n1,x\ry\n", ["a", "b"], [["1", "x\ry"]]),
    "a line end in the header": ('"a\nx",b\n1,2\n', ["a\nx", "b"], [["1", "2"]]),
    "a header with a quote out of order": ('a,"b" x\n1,2\n3,4\n', ["a", 'b" x'], [["1", "2"], ["3", "4"]]),
    "two columns of one name, one of none": ("a,a,\n1,2,3\n", ["a", "a", ""], [["1", "2", "3"]]),
    "names of ours": (
        "row_number,column_1,*,^.*$\n1,2,3,4\n",
        ["row_number", "column_1", "*", "^.*$"],
        [["1", "2", "3", "4"]],
    ),
    "cells that look like nulls": ("a,b\nNA,null\n\\N,None\n", ["a", "b"], [["NA", "null"], ["\\N", "None"]]),
    "semicolons": ('a;b\n1;"2;3"\n', ["a", "b"], [["1", "2;3"]]),
    "pipes": ('a|b\n1|"2|3"\n', ["a", "b"], [["1", "2|3"]]),
    "a comment is a record": ("a,b\n# a,b\n", ["a", "b"], [["# a", "b"]]),
}


@pytest.mark.usefixtures("_any_block")
@pytest.mark.parametrize("content, header, table", CASES.values(), ids=CASES.keys())
def test_records_are_as_written(read, content, header, table):
    names, taken, broken = read(content)
    assert (names, [texts for _, texts in taken], broken) == (header, table, [])


@pytest.mark.usefixtures("_any_block")
@pytest.mark.parametrize(
    "content, good, bad",
    [
        pytest.param("1,A\n2,B,2\n", [(3, "2")], [(2, "RAGGED_ROW", b"1,A")], id="a short row"),
        pytest.param("1,A,1,x\n2,B,2\n", [(3, "2")], [(2, "RAGGED_ROW", b"1,A,1,x")], id="a long row"),
        pytest.param(
            "1,A,1,x\n2,B,2\n3,C\n",
            [(3, "2")],
            [(2, "RAGGED_ROW", b"1,A,1,x"), (4, "RAGGED_ROW", b"3,C")],
            id="a long row and a short one, which make up for each other",
        ),
        pytest.param(
            "1,A\r\n2,B,2\r\n\r\n3,C\r\n",
            [(3, "2")],
            [(2, "RAGGED_ROW", b"1,A"), (5, "RAGGED_ROW", b"3,C")],
            id="windows line ends and a blank line",
        ),
        pytest.param(
            '1,"A,1\n2,B,2\n3,C,3\n',
            [(3, "2"), (4, "3")],
            [(2, "MALFORMED_QUOTES", b'1,"A,1')],
            id="a quote that never ends costs its own row",
        ),
        pytest.param(
            '1,"A" x,1\n2,B,2\n3,"C",3\n',
            [(3, "2"), (4, "3")],
            [(2, "MALFORMED_QUOTES", b'1,"A" x,1')],
            id="text behind a closing quote",
        ),
        pytest.param(
            '1,"A"\rx,1\n2,B,2\n',
            [(3, "2")],
            [(2, "MALFORMED_QUOTES", b'1,"A"\rx,1')],
            id="a return behind a closing quote",
        ),
        pytest.param(
            '1,A "x, y",1\n2,B,2\n',
            [(3, "2")],
            [(2, "RAGGED_ROW", b'1,A "x, y",1')],
            id="a quote within a text quotes nothing",
        ),
        pytest.param("\n\r\n1,A,1\n\n\n2,B,2\n\n", [(4, "1"), (7, "2")], [], id="blank lines are numbered, not read"),
        pytest.param('"1\n1",A,1\n2,B,2\n', [(2, "1\n1"), (3, "2")], [], id="a quoted line end makes no row"),
        pytest.param(
            f"1,A,1\n2,{'x' * 2_000_000},2\n3,C,3\n",
            [(2, "1"), (4, "3")],
            [(3, "ROW_TOO_LONG", ...)],
            id="a row of two megabytes",
        ),
        pytest.param(
            f'1,A,1\n2,"{"x" * 2_000_000}",2\n3,C,3\n',
            [(2, "1"), (4, "3")],
            [(3, "ROW_TOO_LONG", ...)],
            id="a quoted row of two megabytes",
        ),
    ],
)
def test_records_that_are_broken_are_kept_as_they_stand(read, content, good, bad):
    _, taken, broken = read(START + content)
    assert [(number, texts[0]) for number, texts in taken] == good
    assert [record[:2] for record in broken] == [record[:2] for record in bad]
    assert all(raw in (told, ...) for (*_, told), (*_, raw) in zip(broken, bad, strict=True))


@pytest.mark.usefixtures("_any_block")
def test_blank_lines_before_the_header_are_numbered(read):
    names, taken, _ = read("\n\r\n" + START + "1,A,1\n")
    assert (names, taken) == (["SKU", "Name", "Price"], [(4, ["1", "A", "1"])])


def test_record_of_exactly_a_megabyte_is_taken(read):
    for size, good, bad in ((0, 1, 0), (1, 0, 1)):
        filler = "x" * (records.MOST_RECORD_BYTES - len("1,,1\n") + size)
        _, taken, broken = read(f"{START}1,{filler},1\n")
        assert (len(taken), len(broken)) == (good, bad)


def test_quote_that_never_ends_does_not_swallow_a_long_file(tmp_path):
    many = rows(20_000)  # more than a megabyte
    surveyed = survey(write(tmp_path, lines('i-0,,"Tent,https://shop.example,1', *many)))
    assert (surveyed.rows_read, surveyed.rejected_by_code) == (20_001, {"MALFORMED_QUOTES": 1})


@pytest.mark.parametrize(
    "content",
    [START, START.strip(), START + "\n\n", "\n" + START],
    ids=["a header only", "a header without a line end", "a header and blank lines", "a blank line and a header"],
)
def test_file_without_data_rows_is_empty(tmp_path, content):
    with pytest.raises(EmptyFileError) as refused:
        survey(write(tmp_path, content.replace("SKU", "Url")))
    assert refused.value.code == "EMPTY_FILE"


def test_header_of_blanks_is_an_empty_file(read):
    with pytest.raises(EmptyFileError):
        read(",,,\n")


def test_header_without_end_is_refused(read):
    with pytest.raises(UnreadableFileError, match="the first line does not end"):
        read("a," + "x" * records.MOST_RECORD_BYTES)


@pytest.mark.spec("002 7.3.1")
@pytest.mark.parametrize("broken", ["", "ragged\n"], ids=["good rows", "a ragged row counts"])
def test_more_rows_than_allowed_are_refused(read, broken):
    content = START + "1,A,1\n2,B,2\n" + (broken or "3,C,3\n")
    _, taken, _ = read(content, limits=Limits(max_rows=3, max_bytes=1_000))
    assert taken[0] == (2, ["1", "A", "1"])
    with pytest.raises(RowLimitError, match="more than the 2 rows that this feed allows") as refused:
        read(content, limits=Limits(max_rows=2, max_bytes=1_000))
    assert refused.value.code == "ROW_COUNT_LIMIT_EXCEEDED"


@pytest.mark.parametrize("change", [lambda frame: frame[1:], lambda frame: pl.concat([frame, frame[:1]])])
def test_parser_that_drops_or_invents_rows_is_caught(tmp_path, monkeypatch, change):
    read_csv = pl.read_csv
    monkeypatch.setattr(pl, "read_csv", lambda *args, **options: change(read_csv(*args, **options)))
    with pytest.raises(RowsLostError, match="4 records from row 1 on gave") as caught:
        survey(write(tmp_path, lines(*rows(3))))
    assert caught.value.code == "ROWS_LOST"


def test_parser_that_gives_up_is_told_in_one_line(tmp_path, monkeypatch):
    def give_up(*_args, **_options):
        message = "found more fields\nthan there are"
        raise pl.exceptions.ComputeError(message)

    monkeypatch.setattr(pl, "read_csv", give_up)
    with pytest.raises(UnreadableFileError, match=r"from row 1 on: found more fields$"):
        survey(write(tmp_path, lines(GOOD)))


def test_file_is_closed_when_its_reader_stops_early(tmp_path, monkeypatch):
    opened = []
    open_for_read = files.open_for_read
    monkeypatch.setattr(files, "open_for_read", lambda path: opened.append(open_for_read(path)) or opened[-1])
    monkeypatch.setattr(stream, "BLOCK_BYTES", 100)
    monkeypatch.setattr(records, "MOST_RECORD_BYTES", 100)
    path = write(tmp_path, lines(*rows(2_000)))
    taken = parse.parts(path, detect(path), HEADER.strip().split(","), LIMITS, wanted=["column_1"])
    assert next(taken).cells.height
    taken.close()
    del taken
    assert all(file.closed for file in opened)
