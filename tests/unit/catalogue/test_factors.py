"""Bands of factors: where they begin, what they are called."""

from bisect import bisect_right
from decimal import Decimal

import pytest

from tasks.catalogue.factors import EDGES, band_name, distribution


@pytest.mark.parametrize(
    "factor, name",
    [
        ("0.0008", "below x 0.0009"), ("0.0009", "near x 0.001"), ("0.00109", "near x 0.001"),
        ("0.0011", "x 0.0011 to 0.009"), ("0.01", "near x 0.01"), ("0.1", "near x 0.1"), ("0.11", "x 0.11 to 0.5"),
        ("0.7", "x 0.5 to 1"), ("1", "x 1 to 2"), ("2", "x 2 to 9"), ("10", "near x 10"), ("11", "x 11 to 90"),
        ("109.9", "near x 100"), ("1000", "near x 1000"), ("1100", "from x 1100 on"),
    ],
)  # fmt: skip
def test_band_of_a_factor(factor, name):
    assert band_name(bisect_right(EDGES, Decimal(factor))) == name


def test_every_band_has_a_name_of_its_own():
    names = [band_name(band) for band in range(len(EDGES) + 1)]
    assert len(set(names)) == len(names)


def test_distribution_names_the_bands():
    assert distribution([{"band": 0, "count": 3}]) == [{"factor": "below x 0.0009", "count": 3}]
