"""The beginning of a file, cut where a record ends."""

import gzip

import pytest

from tasks.catalogue.sample import inflated, whole_records


@pytest.mark.parametrize(
    "text, most, has_quotes, is_whole, kept",
    [
        pytest.param(b"a\nb\nc\n", 2, True, False, b"a\nb\n", id="so many records"),
        pytest.param(b"a\nb\nc", 9, True, False, b"a\nb\n", id="the last one is cut off"),
        pytest.param(b"a\nb\nc", 9, True, True, b"a\nb\nc", id="the file ends without a newline"),
        pytest.param(b'a\n"b\nb"\nc\n', 2, True, False, b'a\n"b\nb"\n', id="a newline in quotes"),
        pytest.param(b'a\n"b\nb', 9, True, False, b"a\n", id="cut off in quotes"),
        pytest.param(b'a\n16" b\nc\n', 2, False, False, b'a\n16" b\n', id="a quote that is text"),
        pytest.param(b"a\r\nb\r\nc", 9, True, False, b"a\r\nb\r\n", id="carriage returns"),
        pytest.param(b"one long line", 9, True, False, b"one long line", id="no end in sight"),
        pytest.param(b"", 9, True, True, b"", id="nothing"),
    ],
)
def test_whole_records(text, most, has_quotes, is_whole, kept):
    assert whole_records(text, most=most, has_quotes=has_quotes, is_whole=is_whole) == kept


def test_inflated_goes_as_far_as_the_beginning_of_a_file_does():
    data = gzip.compress(b"first,\n") + gzip.compress(bytes(100_000))
    assert inflated(data).startswith(b"first,\n\0")
    assert inflated(data[:-20]).startswith(b"first,\n\0")
    assert len(inflated(gzip.compress(bytes(20_000_000)))) == 8 * 1024 * 1024
