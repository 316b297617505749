"""The first pass over a file: every row checked, and of each product the little that shows whether it changed."""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

import polars as pl

from db.enums import IdentityType
from tasks.catalogue import identity, validate
from tasks.catalogue.dialect import Dialect, EmptyFileError, WrongGuessError, detect
from tasks.catalogue.fingerprints import fingerprints
from tasks.catalogue.mapping import Mapping, map_columns, with_fields
from tasks.catalogue.money import Evidence
from tasks.catalogue.parse import ROW, Limits, Part, parts, read_header
from tasks.catalogue.samples import DUPLICATE, Samples
from tasks.errors import IngestError

NARROW = [ROW, "identity_type", "identity_value", "fingerprint", "price", "original_price", "currency", "in_stock"]
PRICES = ("sale_price", "list_price", "original_price")

T = TypeVar("T")
Progress = Callable[[int], None]


class NoUsableRowError(IngestError):
    """Every row of the file was rejected."""

    code = "NO_USABLE_ROWS"


class ProductLimitError(IngestError):
    """The file has more products than this feed allows."""

    code = "UNIQUE_PRODUCT_LIMIT_EXCEEDED"
    hint = "if the number is right, raise the limit with: feedmill feeds set KEY --max-products N"


@dataclass(frozen=True)
class Reading:
    """How a file is read: what its bytes are and what its columns mean."""

    path: Path
    dialect: Dialect
    mapping: Mapping
    limits: Limits

    def document(self) -> dict[str, Any]:
        """For the run's record."""
        return {**self.dialect.document(), "columns": self.mapping.document(), "unused_columns": self.mapping.unused}


@dataclass(frozen=True)
class Survey:
    """A file, seen once: the last valid row of each product, narrow, and where the other rows went."""

    reading: Reading
    products: pl.DataFrame
    rows_read: int
    rejected_by_code: dict[str, int]
    duplicates: int
    samples: list[dict[str, Any]]
    inflated_bytes: int

    @property
    def rejected(self) -> int:
        return sum(self.rejected_by_code.values())

    @property
    def url_hash_fallbacks(self) -> int:
        return self.products.filter(pl.col("identity_type") == IdentityType.URL_HASH.value).height

    @property
    def in_stock(self) -> int:
        return int(self.products["in_stock"].sum())


def survey_file(
    path: Path, limits: Limits, *, max_products: int | None = None, on_rows: Progress | None = None
) -> Survey:
    """Everything that a file says; refuses one that is empty, unreadable, too long, or without a usable row."""

    def survey(dialect: Dialect) -> Survey:
        reading = open_file(path, dialect, limits)
        return _Pass(reading, on_rows).survey(max_products=max_products or limits.max_rows)

    return read_as_detected(path, survey)


def read_as_detected(path: Path, read: Callable[[Dialect], T]) -> T:
    """What `read` makes of a file, called again with a better dialect if the first bytes misled."""
    dialect = detect(path)
    for _ in range(4):  # encoding, damage and decimal sign may each be found out late, once
        try:
            return read(dialect)
        except WrongGuessError as wrong:
            dialect = wrong.better
    message = "the file contradicts itself"
    raise AssertionError(message)


def open_file(path: Path, dialect: Dialect, limits: Limits) -> Reading:
    """Refuses a file without the columns that identify a product and its price."""
    return Reading(path, dialect, map_columns(read_header(path, dialect, limits)), limits)


def values(part: Part, reading: Reading) -> pl.DataFrame:
    """The rows of a part with their values, and `rejection` where one is due."""
    return validate.with_values(with_fields(part.cells, reading.mapping), decimal=reading.dialect.decimal)


class _Pass:
    def __init__(self, reading: Reading, on_rows: Progress | None) -> None:
        self._reading = reading
        self._on_rows = on_rows
        self._evidence = Evidence()
        self._samples = Samples()
        self._rejected: Counter[str] = Counter()
        self._narrow: list[pl.DataFrame] = []
        self._rows = self._bytes = 0

    def survey(self, *, max_products: int) -> Survey:
        reading = self._reading
        header = list(reading.mapping.header)
        for part in parts(reading.path, reading.dialect, header, reading.limits, wanted=reading.mapping.wanted):
            self._take(part)
            if self._on_rows:
                self._on_rows(self._rows)
        self._refuse_guess()
        self._refuse_useless()
        accepted = pl.concat(self._narrow, rechunk=False)
        self._narrow.clear()
        products = identity.last_of_each(accepted)
        if products.height > max_products:
            message = f"the file has {products.height:,} products, more than the {max_products:,} that this feed allows"
            raise ProductLimitError(message)
        if products.height < accepted.height:
            self._sample_duplicates(accepted, products)
        return Survey(
            reading,
            products,
            rows_read=self._rows,
            rejected_by_code=dict(sorted(self._rejected.items())),
            duplicates=accepted.height - products.height,
            samples=self._samples.rows,
            inflated_bytes=self._bytes,
        )

    def _take(self, part: Part) -> None:
        self._rows += part.cells.height + len(part.piece.broken)
        self._bytes += part.size_bytes
        fields = with_fields(part.cells, self._reading.mapping)
        for name in PRICES:
            self._evidence.add(fields[name])
        rows = validate.with_values(fields, decimal=self._reading.dialect.decimal)
        self._reject(part, rows.filter(pl.col("rejection").is_not_null()))
        valid = identity.with_identity(rows.filter(pl.col("rejection").is_null()))
        valid = valid.with_columns(fingerprint=fingerprints(valid))
        self._narrow.append(valid.select(NARROW))

    def _reject(self, part: Part, rejected: pl.DataFrame) -> None:
        for broken in part.piece.broken:
            self._rejected[broken.code] += 1
            self._samples.add(broken.code, broken.row_number, broken.raw)
        self._rejected.update(dict(rejected["rejection"].value_counts().iter_rows()))
        for number, code in self._samples.chosen(rejected.select(ROW, code="rejection")):
            self._samples.add(code, number, part.piece.raw(number))

    def _refuse_guess(self) -> None:
        if self._evidence.contradicts(self._reading.dialect.decimal):
            raise WrongGuessError(replace(self._reading.dialect, decimal=self._evidence.decimal))

    def _refuse_useless(self) -> None:
        if self._rows == 0:
            raise EmptyFileError
        if sum(self._rejected.values()) == self._rows:
            most = max(sorted(self._rejected), key=self._rejected.__getitem__)
            message = f"none of the {self._rows:,} rows can be used; most often {self._samples.meaning(most)}"
            raise NoUsableRowError(message)

    def _sample_duplicates(self, accepted: pl.DataFrame, products: pl.DataFrame) -> None:
        """Which rows were duplicates is known only now, so that the sampled ones are looked up once more."""
        superseded = accepted.select(ROW).join(products.select(ROW), on=ROW, how="anti", maintain_order="left")
        wanted = superseded[ROW].head(self._samples.most).to_list()
        reading = self._reading
        header = list(reading.mapping.header)
        for part in parts(reading.path, reading.dialect, header, reading.limits, wanted=reading.mapping.wanted[:1]):
            here = part.cells.filter(pl.col(ROW).is_in(wanted))[ROW]
            for number in here:
                self._samples.add(DUPLICATE, number, part.piece.raw(number))
            if part.cells.height and part.cells[ROW][-1] >= wanted[-1]:
                return
