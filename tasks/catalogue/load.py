"""The second pass: the batches that a run writes. A file is read again only for products that are new or changed."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import polars as pl

from tasks.catalogue import diff, money
from tasks.catalogue.fingerprints import FINGERPRINT_VERSION, with_signatures
from tasks.catalogue.identity import with_addresses
from tasks.catalogue.parse import ROW, parts
from tasks.catalogue.survey import Reading, values

BATCH_ROWS = 5_000


@dataclass(frozen=True)
class Batch:
    """Products that are written together: all of them were seen, some are new, some changed, some have a price."""

    seen: pl.DataFrame
    attributes: pl.DataFrame
    prices: pl.DataFrame

    @cached_property
    def new(self) -> pl.DataFrame:
        return self.attributes.filter(pl.col("product_id").is_null())

    @cached_property
    def changed(self) -> pl.DataFrame:
        return self.attributes.filter(pl.col("product_id").is_not_null())


def batches(products: pl.DataFrame, reading: Reading, *, size: int | None = None) -> Iterator[Batch]:
    """In the order of the file; `products` as `diff.with_changes` gives them."""
    wide = _Wide(reading, products.filter(diff.needs_attributes())[ROW])
    for seen in products.iter_slices(size or BATCH_ROWS):
        needed = seen.filter(diff.needs_attributes())
        yield Batch(seen, wide.attributes_of(needed), _prices(seen.filter(pl.col("price_reason").is_not_null())))


def attributes_of(products: pl.DataFrame, reading: Reading) -> pl.DataFrame:
    """Everything that the file says of these few products, in the order of the file."""
    in_order = products.sort(ROW)
    return _Wide(reading, in_order[ROW]).attributes_of(in_order)


def first_prices(batch: Batch, new_ids: pl.Series) -> pl.DataFrame:
    """The prices of the new products of a batch, which have these ids."""
    given = batch.new.select(ROW, product_id=new_ids)
    return batch.prices.drop("product_id").join(given, on=ROW, how="inner", maintain_order="left")


def _prices(priced: pl.DataFrame) -> pl.DataFrame:
    texts = {name: money.text_of(name) for name in ("price", "original_price")}
    return with_signatures(priced.with_columns(**texts, currency=pl.col("currency").cast(pl.String)))


class _Wide:
    """The rows of a file that are wanted whole, read once and in order."""

    def __init__(self, reading: Reading, wanted: pl.Series) -> None:
        self._rows = self._wanted_rows(reading, wanted)  # nothing is opened before the first is asked for
        self._ahead: list[pl.DataFrame] = []
        self._last = 0

    @staticmethod
    def _wanted_rows(reading: Reading, wanted: pl.Series) -> Iterator[pl.DataFrame]:
        header = list(reading.mapping.header)
        for part in parts(reading.path, reading.dialect, header, reading.limits, wanted=reading.mapping.wanted):
            if part.cells.height:
                start, end = (wanted.search_sorted(part.cells[ROW][place], side="left") for place in (0, -1))
                here = part.cells.join(wanted[start : end + 1].to_frame(), on=ROW, how="semi")
                yield values(part.with_cells(here), reading)

    def attributes_of(self, needed: pl.DataFrame) -> pl.DataFrame:
        """The rows with everything that a product is; they must be asked for in order."""
        if not needed.height:
            return needed.select(ROW, "product_id").clear()
        while self._last < needed[ROW][-1]:
            rows = next(self._rows)
            self._ahead.append(rows)
            self._last = rows[ROW][-1] if rows.height else self._last
        held = pl.concat(self._ahead)
        self._ahead = [held.filter(pl.col(ROW) > needed[ROW][-1])]
        facts = needed.select(ROW, "identity_type", "identity_value", "product_id", "fingerprint")
        rows = held.join(facts, on=ROW, how="inner", maintain_order="left")
        return with_addresses(rows).with_columns(fingerprint_version=pl.lit(FINGERPRINT_VERSION, dtype=pl.Int16))
