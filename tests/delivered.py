"""Delivered files for tests: their bytes, and what the first pass makes of them."""

import csv
import io

from tasks.catalogue.parse import Limits, parts, read_header
from tasks.catalogue.survey import survey_file

LIMITS = Limits(max_rows=100_000, max_bytes=100_000_000)
HEADER = "ItemId,SKU,Name,Url,Price\n"
GOOD = "i-1,s-1,Tent,https://shop.example/1,10.00"


def lines(*rows, header=HEADER):
    return header + "".join(f"{row}\n" for row in rows)


def rows(count, *, first=1):
    """So many good rows, each of a product of its own."""
    return [f"i-{n},s-{n},Tent {n},https://shop.example/{n},{n}.00" for n in range(first, first + count)]


def write(folder, content):
    path = folder / "feed"
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def survey(path, *, limits=LIMITS, **options):
    """The survey of a file, of which every row must have ended in one bucket (promise 7)."""
    surveyed = survey_file(path, limits, **options)
    assert surveyed.rows_read == surveyed.products.height + surveyed.rejected + surveyed.duplicates
    counted = {code: sum(sample["code"] == code for sample in surveyed.samples) for code in surveyed.rejected_by_code}
    assert counted == {code: min(count, 100) for code, count in surveyed.rejected_by_code.items()}
    return surveyed


def cells(path, dialect, *, limits=LIMITS):
    """The header and every record of a file as (row number, texts), and the broken ones as (row number, code, raw)."""
    header = read_header(path, dialect, limits)
    wanted = [f"column_{n + 1}" for n in range(len(header))]
    taken, broken = [], []
    for part in parts(path, dialect, header, limits, wanted=wanted):
        taken += [(row[0], list(row[1:])) for row in part.cells.iter_rows()]
        broken += [(record.row_number, record.code, record.raw) for record in part.piece.broken]
    return header, taken, broken


def as_csv(table, **dialect):
    """A table as Python's own writer writes it."""
    text = io.StringIO(newline="")
    csv.writer(text, **dialect).writerows(table)
    return text.getvalue()
