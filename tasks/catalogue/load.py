"""From a file on disk to the rows that a run writes, and the figures that it reports. Pure but for reading the file."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import polars as pl

from db.enums import IdentityType
from tasks.catalogue import diff, fingerprints, identity, mapping, parse, validate
from tasks.errors import IngestError

BATCH_ROWS = 5_000
SAMPLES_PER_CODE = 100
RAW_CHARACTERS = 2_000
DUPLICATE = "DUPLICATE_ROW_SAME_IDENTITY"

_MESSAGES = {
    "MISSING_TITLE": "the row has no title",
    "MISSING_URL": "the row has no address",
    "INVALID_URL": "the address is not http or https",
    "MISSING_PRICE": "the row has no price",
    "INVALID_PRICE": "the price is not certainly a positive amount",
    "INVALID_CURRENCY": "the currency is not a code of three letters",
    DUPLICATE: "a later row has the same identity",
}


class NoUsableRowError(IngestError):
    """Every row of the file was rejected."""

    code = "NO_USABLE_ROWS"


@dataclass(frozen=True)
class Loaded:
    """A file, read: the last valid row of each product, and where the other rows went."""

    products: pl.DataFrame
    rows_read: int
    rejected_by_code: dict[str, int]
    duplicates: int
    samples: list[dict[str, Any]]
    detected: dict[str, Any]

    @property
    def rejected(self) -> int:
        return sum(self.rejected_by_code.values())

    @property
    def url_hash_fallbacks(self) -> int:
        return self.products.filter(pl.col("identity_type") == IdentityType.URL_HASH.value).height


def read_file(path: Path, *, max_rows: int) -> Loaded:
    """Everything that a file says; refuses one that is empty, unreadable, too long, or without a usable row."""
    dialect = parse.detect(path)
    rows = parse.read_rows(path, dialect, max_rows=max_rows)
    used = mapping.columns_used(name for name in rows.columns if name != parse.ROW)
    valued = validate.with_values(mapping.with_fields(rows, used))
    rejected = valued.filter(pl.col("rejection").is_not_null())
    if rejected.height == valued.height:
        code = rejected["rejection"].mode().sort()[0]
        message = f"none of the {rows.height:,} rows can be used; most often {_MESSAGES[code]}"
        raise NoUsableRowError(message)
    valid = identity.with_identity(valued.filter(pl.col("rejection").is_null()))
    products = identity.last_of_each(valid)
    twice = valid.join(products.select("row_number"), on="row_number", how="anti")
    counts = rejected.group_by("rejection").len().sort("rejection")
    return Loaded(
        products=fingerprints.with_hashes(products),
        rows_read=rows.height,
        rejected_by_code=dict(counts.iter_rows()),
        duplicates=twice.height,
        samples=[*_samples(rows, rejected), *_samples(rows, twice.with_columns(rejection=pl.lit(DUPLICATE)))],
        detected={**dialect.document(), "columns": used},
    )


def _samples(rows: pl.DataFrame, marked: pl.DataFrame) -> list[dict[str, Any]]:
    """Of each code the first rows as they stood in the file."""
    chosen = marked.select("row_number", "rejection").group_by("rejection", maintain_order=True).head(SAMPLES_PER_CODE)
    codes = dict(chosen.select("row_number", "rejection").sort("row_number").iter_rows())
    sampled = rows.filter(rows[parse.ROW].is_in(list(codes)))
    return [_sample(codes[number], number, cells) for number, *cells in sampled.iter_rows()]


def _sample(code: str, number: int, cells: list[str | None]) -> dict[str, Any]:
    text = "\t".join(cell or "" for cell in cells).replace("\x00", "")
    return {"code": code, "message": _MESSAGES[code], "row_number": number, "raw_row": text[:RAW_CHARACTERS]}


def changes(loaded: Loaded, state: pl.DataFrame, *, now: datetime, heartbeat_hours: int) -> pl.DataFrame:
    """The products of the file with what each of them writes."""
    changed = diff.with_changes(loaded.products, state, now=now, heartbeat_hours=heartbeat_hours)
    return changed.with_columns(fingerprint_version=pl.lit(fingerprints.FINGERPRINT_VERSION))


def batches(products: pl.DataFrame, *, size: int = BATCH_ROWS) -> Iterator[pl.DataFrame]:
    yield from products.iter_slices(size)


def writes(batch: pl.DataFrame) -> pl.DataFrame:
    """The rows of a batch that write something beside their sighting."""
    return batch.filter(pl.col("product_id").is_null() | pl.col("is_changed") | pl.col("price_reason").is_not_null())
