"""What holds for every file: nothing depends on where a block ends, and no bytes at all do harm."""

import csv
import gzip
import io
from contextlib import contextmanager

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tasks.catalogue import records, stream
from tasks.catalogue.dialect import Dialect
from tasks.errors import IngestError
from tests.delivered import HEADER, as_csv, cells, rows, survey, write

QUICK = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
MORE = settings(QUICK, max_examples=1_500)


@contextmanager
def cut(block, most):
    """Read in blocks of this size, with records of at most so many bytes."""
    before = stream.BLOCK_BYTES, records.MOST_RECORD_BYTES
    stream.BLOCK_BYTES, records.MOST_RECORD_BYTES = block, most
    try:
        yield
    finally:
        stream.BLOCK_BYTES, records.MOST_RECORD_BYTES = before


texts = st.text(alphabet='ab ,;|\t"\r\n0é\u9774', max_size=6)


@st.composite
def tables(draw):
    """A header and records of its width; none of them blank, which would be no record."""
    width = draw(st.integers(2, 4))
    header = [f"h{place}" for place in range(width)]
    table = draw(st.lists(st.lists(texts, min_size=width, max_size=width), min_size=1, max_size=8))
    return [header, *(row for row in table if any(cell.strip("\r\n") for cell in row))]


written = st.fixed_dictionaries(
    {
        "delimiter": st.sampled_from([",", "\t", ";", "|"]),
        "lineterminator": st.sampled_from(["\n", "\r\n"]),
        "quoting": st.sampled_from([csv.QUOTE_MINIMAL, csv.QUOTE_ALL, csv.QUOTE_NONNUMERIC]),
    }
)


def check_table(folder, table, form, *, block, most):
    if form["quoting"] == csv.QUOTE_MINIMAL and form["lineterminator"] == "\n":
        table = [
            [cell.replace("\r", "x") for cell in row] for row in table
        ]  # the writer leaves them bare, to be guessed
    text = as_csv(table, **form)
    path = write(folder, text)
    with cut(block, most):
        header, taken, broken = cells(path, Dialect(delimiter=form["delimiter"]))
    assert [header, *(texts for _, texts in taken)] == table
    assert [number for number, _ in taken] == list(range(2, len(table) + 1))
    assert broken == []
    assert list(csv.reader(io.StringIO(text, newline=""), delimiter=form["delimiter"])) == table


@QUICK
@given(table=tables(), form=written, block=st.integers(1, 80), most=st.sampled_from([150, 400, 1_048_576]))
def test_table_of_any_dialect_comes_back(tmp_path, table, form, block, most):
    check_table(tmp_path, table, form, block=block, most=most)


@pytest.mark.slow
@MORE
@given(table=tables(), form=written, block=st.integers(1, 80), most=st.sampled_from([150, 400, 1_048_576]))
def test_table_of_any_dialect_comes_back_often(tmp_path, table, form, block, most):
    check_table(tmp_path, table, form, block=block, most=most)


scraps = st.sampled_from(
    [",", ",", ",", "\n", "\n", "\r\n", "\r", '"', '"', '""', '"x"', "\t", ";", "a", " ", "é", "16\"", "\x00", "$",
     "1,299", "12,50", "5.00", "https://a/1", HEADER, *(f"{row}\n" for row in rows(3)), 'i-9,,"T ""9""\n",https://a/9,7.00\r\n']
)  # fmt: skip
heads = st.sampled_from(
    [HEADER, HEADER, "\n" + HEADER, "\ufeff" + HEADER, HEADER.replace(",", "\t"), '"Na\nme",Url,Price\n', ""]
)
hostile = st.tuples(heads, st.lists(scraps, max_size=30)).map(lambda parts: parts[0] + "".join(parts[1]))


def outcome(path, *, block, most):
    """Everything that the first pass says of a file, or its refusal."""
    with cut(block, most):
        try:
            found = survey(path)
        except IngestError as refused:
            assert "\n" not in refused.message
            return refused.code, refused.message
    told = sorted((sample["code"], sample["row_number"], sample["raw_row"]) for sample in found.samples)
    return found.reading.document(), found.products.rows(), found.rejected_by_code, found.duplicates, told


def check_hostile(folder, content, *, block, most):
    path = write(folder, content)
    assert outcome(path, block=block, most=most) == outcome(path, block=1_000_000, most=most)


@QUICK
@given(content=hostile, block=st.integers(1, 120), most=st.sampled_from([100, 300]))
def test_hostile_text_gives_the_same_whatever_the_blocks(tmp_path, content, block, most):
    check_hostile(tmp_path, content, block=block, most=most)


@pytest.mark.slow
@MORE
@given(content=hostile, block=st.integers(1, 120), most=st.sampled_from([100, 300]))
def test_hostile_text_gives_the_same_whatever_the_blocks_often(tmp_path, content, block, most):
    check_hostile(tmp_path, content, block=block, most=most)


GOOD_FILE = (HEADER + "".join(f"{row}\n" for row in rows(12))).replace("Tent 3", '"Tent, ""für"" 3"')
FORMS = {
    "plain": GOOD_FILE.encode(),
    "tabs": GOOD_FILE.replace('"Tent, ""für"" 3"', 'Tent "für" 3').replace(",", "\t").encode(),
    "cp1252": GOOD_FILE.encode("cp1252"),
    "UTF-16": GOOD_FILE.encode("utf-16"),
    "gzip": gzip.compress(GOOD_FILE.encode(), mtime=0),
}
edits = st.lists(
    st.one_of(
        st.tuples(st.just("flip"), st.integers(0, 10_000), st.integers(1, 255)),
        st.tuples(st.just("cut"), st.integers(0, 10_000), st.integers(0, 200)),
        st.tuples(st.just("double"), st.integers(0, 10_000), st.integers(1, 200)),
        st.tuples(st.just("insert"), st.integers(0, 10_000), st.binary(min_size=1, max_size=8)),
    ),
    min_size=1,
    max_size=5,
)


def mutated(data, changes):
    for kind, at, by in changes:
        place = at % (len(data) + 1)
        if kind == "flip":
            data = data[:place] + bytes(byte ^ by for byte in data[place : place + 1]) + data[place + 1 :]
        elif kind == "cut":
            data = data[:place] + data[place + by :]
        elif kind == "double":
            data = data[: place + by] + data[place:]
        else:
            data = data[:place] + by + data[place:]
    return data


@QUICK
@given(form=st.sampled_from(list(FORMS)), changes=edits, block=st.integers(1, 500))
def test_damaged_file_is_surveyed_or_refused(tmp_path, form, changes, block):
    check_hostile(tmp_path, mutated(FORMS[form], changes), block=block, most=2_000)


@pytest.mark.slow
@MORE
@given(form=st.sampled_from(list(FORMS)), changes=edits, block=st.integers(1, 500))
def test_damaged_file_is_surveyed_or_refused_often(tmp_path, form, changes, block):
    check_hostile(tmp_path, mutated(FORMS[form], changes), block=block, most=2_000)


@QUICK
@given(
    content=st.binary(max_size=300),
    start=st.sampled_from([b"", b"\x1f\x8b\x08", b"\xff\xfe", b"\xef\xbb\xbf", HEADER.encode()]),
)
def test_any_bytes_are_surveyed_or_refused(tmp_path, content, start):
    check_hostile(tmp_path, start + content, block=7, most=200)
