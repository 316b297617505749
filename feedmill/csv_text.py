"""CSV that a spreadsheet shows and does not run."""

import csv
import io
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n")
_NUMBER = re.compile(r"[+-]?[0-9]+(\.[0-9]+)?")


def written(columns: Sequence[str], rows: Iterable[Mapping[str, Any]]) -> str:
    """A header and a line per row; a text that a spreadsheet would take for a formula begins with an apostrophe."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows([cell(row[name]) for name in columns] for row in rows)
    return text.getvalue()


def cell(value: object) -> str:
    """Lists as words with blanks between them, nothing as nothing."""
    if value is None:
        return ""
    if isinstance(value, list | tuple):
        return " ".join(map(str, value))
    said = str(value).lower() if isinstance(value, bool) else str(value)
    return f"'{said}" if said.startswith(_FORMULA) and not _NUMBER.fullmatch(said) else said
