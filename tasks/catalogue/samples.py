"""Samples of the rows that were not taken, as they stand in the file: a bounded number of each code."""

from collections import Counter
from collections.abc import Iterator
from typing import Any

import polars as pl

SAMPLES_PER_CODE = 100
RAW_BYTES = 2_048
DUPLICATE = "DUPLICATE_ROW_SAME_IDENTITY"
UPGRADE = "IDENTITY_UPGRADE_DETECTED"

MEANINGS = {
    "MISSING_TITLE": "the row has no title",
    "MISSING_URL": "the row has no address",
    "INVALID_URL": "the address is not http or https",
    "MISSING_PRICE": "the row has no price",
    "INVALID_PRICE": "the price is not certainly a positive amount",
    "AMBIGUOUS_PRICE": "the price may be read in two ways, and the rest of the file does not tell which",
    "INVALID_CURRENCY": "the currency is not a code of ISO 4217, or the price names another one",
    "IDENTITY_TOO_LONG": "the item id or SKU is longer than 512 bytes",
    "RAGGED_ROW": "the row has more or fewer cells than the header",
    "MALFORMED_QUOTES": "a cell begins with a quote that does not close",
    "ROW_TOO_LONG": "the row is longer than 1 MB",
    "REPEATED_HEADER": "the row repeats the header",
    DUPLICATE: "a later row has the same identity",
    UPGRADE: "the product was known under a lesser identity, which will age out",
}


class Samples:
    """Rows for the run's record."""

    most = SAMPLES_PER_CODE

    def __init__(self) -> None:
        self.rows: list[dict[str, Any]] = []
        self._taken: Counter[str] = Counter()

    def add(self, code: str, row_number: int, raw: bytes) -> None:
        """One more, unless there are enough of its code."""
        if self._taken[code] >= self.most:
            return
        self._taken[code] += 1
        text = raw[:RAW_BYTES].decode(errors="ignore")  # the cut may be within a character
        self.rows.append({"code": code, "message": self.meaning(code), "row_number": row_number, "raw_row": text})

    def chosen(self, marked: pl.DataFrame) -> Iterator[tuple[int, str]]:
        """Of row numbers and codes those that are still wanted."""
        if marked.height:
            first = marked.group_by("code", maintain_order=True).head(self.most)
            yield from first.select("row_number", "code").sort("row_number").iter_rows()

    @staticmethod
    def meaning(code: str) -> str:
        return MEANINGS[code]
