"""The beginning of a file, read as the whole file would be."""

import gzip

import pytest

from tasks.catalogue.dialect import EmptyFileError, UnreadableFileError
from tasks.catalogue.parse import Limits
from tasks.catalogue.records import MOST_RECORD_BYTES
from tasks.catalogue.sample import Beginning, first_rows, inflated
from tasks.catalogue.survey import survey_file
from tasks.errors import FileDamagedError
from tests.mill import csv_text, row

FEW = csv_text(row(number) for number in range(1, 13))
ODDITIES = [
    pytest.param(FEW, "utf-8", id="plain rows"),
    pytest.param(FEW.replace("Tent 7", 'Rack 19" 7'), "utf-8", id="an inch sign"),
    pytest.param(FEW.replace("Tent 7", '"Tent\nseven"'), "utf-8", id="a newline in quotes"),
    pytest.param(FEW.replace("Tent 7", '"Tent ""\n"" seven"'), "utf-8", id="a newline between doubled quotes"),
    pytest.param(FEW.replace("Tent 7", '"Tent" 7'), "utf-8", id="text behind a closing quote"),
    pytest.param(FEW.replace("Tent 7", '"Tent 7'), "utf-8", id="a quote that never closes"),
    pytest.param(FEW.replace("Tent 7", "Tent\r7"), "utf-8", id="a stray carriage return"),
    pytest.param(FEW.replace(",", "\t").replace("Tent 7", '"Tent" 19"'), "utf-8", id="quotes that are text"),
    pytest.param(FEW.replace("\n", "\n\n"), "utf-8", id="blank lines"),
    pytest.param(FEW.replace("\n", "\r\n"), "utf-8", id="both line ends"),
    pytest.param(FEW.replace("\n", "\r"), "utf-8", id="carriage returns"),
    pytest.param(FEW.replace("Tent", "Zelt für 2 €"), "utf-8", id="characters of several bytes"),
    pytest.param(FEW.replace("Tent", "Zelt für 2 €"), "cp1252", id="an old encoding"),
    pytest.param(FEW.replace("Tent 8", f'"\n{"ઊĀ" * 20}"'), "utf-16-le", id="bytes of a newline across two characters"),
    pytest.param(FEW.replace("Tent", "Zelt für"), "utf-16", id="two bytes for each character"),
]


@pytest.fixture
def read(tmp_path):
    def rows(text, **how):
        path = tmp_path / "sample"
        path.write_bytes(text)
        return first_rows(path, **{"most": 100, "is_whole": True, **how}).rows

    return rows


@pytest.mark.parametrize("text, encoding", ODDITIES)
def test_first_rows_of_a_file_cut_off_anywhere_are_those_of_the_whole(read, text, encoding):
    data = text.encode(encoding)
    whole = read(data)
    sure = len(text[: text.index("item-7")].encode(encoding))
    for end in range(sure, len(data), 29):
        rows = read(data[:end], is_whole=False)
        assert rows.rows() == whole.head(rows.height).rows(), end
        assert rows.height >= 5, end


@pytest.mark.parametrize("text, encoding", ODDITIES)
def test_first_rows_are_no_more_than_asked_for(read, text, encoding):
    data = text.encode(encoding)
    assert read(data, most=8).rows() == read(data).rows()[:8]


@pytest.mark.parametrize("text, encoding", ODDITIES)
def test_first_rows_of_a_whole_file_are_what_a_run_reads(read, tmp_path, text, encoding):
    rows = read(text.encode(encoding))
    survey = survey_file(tmp_path / "sample", Limits(max_rows=1000, max_bytes=10**6))
    assert (rows.height, rows["rejection"].count()) == (survey.rows_read, survey.rejected)


def test_first_rows_end_before_a_quote_that_only_the_rest_of_the_file_could_close(read):
    text = FEW.replace("Tent 7", '"Tent 7').encode()
    assert read(text, is_whole=False).height == 6
    rows = read(text + b"x" * MOST_RECORD_BYTES + b"\n", is_whole=False)
    assert rows["rejection"].to_list() == [None] * 6 + ["MALFORMED_QUOTES"] + [None] * 5 + ["ROW_TOO_LONG"]


def test_first_rows_are_read_with_the_decimal_sign_of_the_file(read):
    rows = read(csv_text(row(number, price=f"{number},50") for number in range(1, 4)).encode())
    assert rows["price"].to_list() == ["1.50", "2.50", "3.50"]


@pytest.mark.parametrize("is_whole", [pytest.param(True, id="whole"), pytest.param(False, id="in part")])
def test_first_rows_of_a_header_alone_are_refused(read, is_whole):
    with pytest.raises(EmptyFileError):
        read(csv_text([]).encode(), is_whole=is_whole)


def test_first_rows_of_a_line_without_end_are_refused(read):
    with pytest.raises(UnreadableFileError):
        read(b"a,b" * MOST_RECORD_BYTES, is_whole=False)


MEMBERS = gzip.compress(b"a") + bytes(512) + gzip.compress(b"b")
LIMIT = 8 * 1024 * 1024


@pytest.mark.parametrize(
    "packed, text, is_whole",
    [
        pytest.param(Beginning(MEMBERS, is_whole=True), b"ab", True, id="all members"),
        pytest.param(Beginning(MEMBERS, is_whole=False), b"ab", False, id="members with more behind them"),
        pytest.param(Beginning(MEMBERS[:-8], is_whole=True), b"ab", False, id="cut off"),
        pytest.param(Beginning(gzip.compress(bytes(LIMIT)), is_whole=True), bytes(LIMIT), True, id="just what is kept"),
        pytest.param(Beginning(gzip.compress(bytes(LIMIT + 1)), is_whole=True), bytes(LIMIT), False, id="too much"),
    ],
)
def test_inflated_goes_as_far_as_the_beginning_of_a_file_does(packed, text, is_whole):
    found = inflated(packed)
    assert (found.data == text, found.is_whole) == (True, is_whole)


@pytest.mark.parametrize(
    "data, error",
    [
        pytest.param(gzip.compress(b"a,b\n") + b"tail", FileDamagedError, id="something behind it"),
        pytest.param(gzip.compress(gzip.compress(b"a,b\n")), UnreadableFileError, id="gzip inside gzip"),
    ],
)
def test_inflated_refuses_what_a_run_refuses(data, error):
    with pytest.raises(error):
        inflated(Beginning(data, is_whole=True))
