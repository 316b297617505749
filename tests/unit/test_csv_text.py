"""CSV for spreadsheets: nothing that a file delivered runs as a formula."""

import csv
import io
from decimal import Decimal

import pytest

from feedmill import csv_text


@pytest.mark.parametrize(
    "text", ["=1+1", "+cmd|' /C calc'!A0", "-2+3", "@SUM(A1)", "\t=1", "\r=1", "\n=1", "=", "-", "+1 234"]
)
def test_a_text_that_a_spreadsheet_would_run_begins_with_an_apostrophe(text):
    assert csv_text.cell(text) == f"'{text}"


@pytest.mark.parametrize(
    "value, said",
    [
        pytest.param("-12.50", "-12.50", id="a negative number"),
        pytest.param("+3", "+3", id="a number with its sign"),
        pytest.param(Decimal("-0.10"), "-0.10", id="money"),
        pytest.param(-4, "-4", id="a count"),
        pytest.param("Tent, 2 = 1", "Tent, 2 = 1", id="a formula's sign further on"),
        pytest.param(None, "", id="nothing"),
        pytest.param(True, "true", id="a yes"),
    ],
)
def test_what_is_harmless_stays(value, said):
    assert csv_text.cell(value) == said


def test_cells_survive_commas_quotes_and_new_lines():
    rows = [{"a": 'x, "y"\nz', "b": "=1", "c": 7}]
    text = csv_text.written(("a", "b"), rows)
    assert list(csv.reader(io.StringIO(text))) == [["a", "b"], ['x, "y"\nz', "'=1"]]
