"""Catalogues of any length from a seed, as gzipped comma files: as delivered, with other prices, and as other bytes.

Run from the root: python -m benchmarks.catalogue.files FOLDER --rows 50000 500000
"""

import argparse
import gzip
import io
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import IO

import polars as pl

from benchmarks.catalogue.job import CHANGED, FIRST, SAME, SEED, files_of

KEY = "CatalogItemId"
CHANGED_IN = 10  # one price in ten
PIECE_ROWS = 50_000  # about 28 MB of text at a time
_PRIME = 2**31 - 1
_NUMBERS = 90_000_000  # item ids have eight digits, and come in no order
_STEP = 48_271_019  # shares no factor with _NUMBERS, so no item id comes twice

_KINDS = ("Trail Tent", "Field Knife", "Camp Stove", "Day Pack", "Rain Shell", "Wool Sock", "Head Lamp", "Trek Pole")
_LINES = ("Ridge", "Alder", "Summit", "Cedar", "Granite", "Harbor", "Juniper", "Tundra", "Willow", "Basalt")
_MAKERS = ("Cairn", "Northfork", "Old Mill", "Pine & Co", "Larch, Sons & Daughters", "Tarn", "Fell", "Moss")
_CATEGORIES = ("Outdoor > Tents", "Outdoor > Knives, Tools", "Outdoor > Kitchen", "Outdoor > Packs", "Clothing > Rain")
_SIZES = ("Small", "Medium", "Large", '16" Long', "Set of 2, Green", '7.5" x 9", Grey', "One Size", "Wide")
_MADE = (
    "Made of ripstop nylon with taped seams, so that a night of steady rain stays outside and you stay dry.",
    "Cut from full-grain leather and stitched twice along each edge, it wears in slowly and lasts for decades.",
    'The 3.5" blade of high-carbon steel takes an edge quickly, holds it well and locks open with a clear click.',
    "Knitted from merino wool with a cushioned sole, it keeps its shape after a hundred washes and dries overnight.",
    "Milled from one block of aluminium, anodised in three colours, and tested at minus thirty degrees for a week.",
    "A frame of tempered steel, a canopy of waxed cotton, and hardware of solid brass: nothing here is plated.",
)
_GOOD_FOR = (
    "Packs down to the size of a loaf of bread, weighs less than two pounds, and comes with its own stuff sack.",
    'Fits any pack with 1" webbing, and clips to a belt, a strap or a branch without tools.',
    "Best from spring to late autumn; for deep winter, choose the four-season model, or add the liner.",
    "Every part can be bought singly and changed with a coin; the sheet in the box shows how it is done.",
    "Chosen by guides, rescue teams and schools, who told us what broke, what rusted, and what they lost.",
)
_CARE = (
    "Rinse with cold water; do not bleach.",
    "Two-year warranty, thirty days to return.",
    "Wipe dry, oil lightly, store flat.",
)
_STOCK = ("InStock", "InStock", "InStock", "InStock", "InStock", "InStock", "LimitedAvailability", "OutofStock")


def write(folder: Path, rows: int, *, seed: int = SEED) -> dict[str, Path]:
    """The files of a catalogue by step: the same rows in the same order, each once.

    They are made piece by piece, so that memory does not grow with the number of rows.
    """
    folder.mkdir(parents=True, exist_ok=True)
    files = files_of(folder, rows)
    with ExitStack() as stack:
        base = stack.enter_context(_gzipped(files[FIRST], level=6, mtime=1))
        same = stack.enter_context(_gzipped(files[SAME], level=5, mtime=2))
        changed = stack.enter_context(_gzipped(files[CHANGED], level=6, mtime=3))
        for first, piece in pieces(rows, seed=seed):
            text = _csv(piece.drop("Changed_Price"), header=first == 0)
            base.write(text)
            same.write(text)
            other = piece.with_columns(Current_Price="Changed_Price").drop("Changed_Price")
            changed.write(_csv(other, header=first == 0))
    return files


def _gzipped(path: Path, *, level: int, mtime: int) -> IO[bytes]:
    return gzip.GzipFile(path, "wb", compresslevel=level, mtime=mtime)


def _csv(rows: pl.DataFrame, *, header: bool) -> bytes:
    text = io.BytesIO()
    rows.write_csv(text, include_header=header, quote_style="necessary")
    return text.getvalue()


def pieces(rows: int, *, seed: int = SEED) -> Iterator[tuple[int, pl.DataFrame]]:
    """The number of the first row of each piece, and its rows with both prices, the second as `Changed_Price`."""
    for first in range(0, rows, PIECE_ROWS):
        numbers = pl.DataFrame({"n": pl.int_range(first, min(rows, first + PIECE_ROWS), eager=True)})
        yield first, _columns(_drawn(numbers.lazy(), seed), seed).collect()


def _drawn(numbers: pl.LazyFrame, seed: int) -> pl.LazyFrame:
    """What several columns of a row are made of."""
    return numbers.select(
        "n",
        kind=_one_of(_KINDS, 1, seed),
        line=_one_of(_LINES, 2, seed),
        size=_one_of(_SIZES, 3, seed),
        made=_one_of(_MADE, 4, seed),
        good_for=_one_of(_GOOD_FOR, 5, seed),
        care=_one_of(_CARE, 6, seed),
        item=(10_000_000 + (pl.col("n") * _STEP + seed) % _NUMBERS).cast(pl.String),
        cents=499 + _chance(7, 40_000, seed),
        is_changed=_chance(8, CHANGED_IN, seed) == 0,
        is_reduced=_chance(9, 4, seed) == 0,
    )


def _columns(drawn: pl.LazyFrame, seed: int) -> pl.LazyFrame:
    return drawn.select(
        pl.col("item").alias(KEY),
        Unique_Merchant_SKU=pl.format("NF-{}", "item"),
        Product_Name=pl.format("{} {} {}", "line", "kind", "size"),
        Product_Description=pl.format("{}: {} {} {}", "kind", "made", "good_for", "care"),
        Product_URL=_address(),
        Image_URL=pl.format("https://img.northfork.example/{}/{}.jpg", _chance(13, 900, seed), "item"),
        Current_Price=_amount(pl.col("cents")),
        Original_Price=pl.when("is_reduced").then(_amount(pl.col("cents") * 5 // 4)).otherwise(None),
        Currency=pl.lit("USD"),
        Stock_Availability=_one_of(_STOCK, 10, seed),
        Gtin=_gtin(),
        Manufacturer=_one_of(_MAKERS, 11, seed),
        Category=_one_of(_CATEGORIES, 12, seed),
        Changed_Price=_amount(pl.col("cents") - pl.when("is_changed").then(25).otherwise(0)),
    )


def _chance(column: int, below: int, seed: int) -> pl.Expr:
    """A number of a row from zero to below, the same in every version of everything: whole numbers and one prime."""
    salt = (seed * 7919 + column * 104_729) % _PRIME
    first = (pl.col("n") * 48_271 + salt) % _PRIME
    second = (first * first + pl.col("n") * 69_621 + salt) % _PRIME
    return second * second % _PRIME % below


def _one_of(words: tuple[str, ...], column: int, seed: int) -> pl.Expr:
    return pl.lit(pl.Series(words)).gather(_chance(column, len(words), seed))


def _amount(cents: pl.Expr) -> pl.Expr:
    return pl.format("{}.{}", cents // 100, (cents % 100).cast(pl.String).str.zfill(2))


def _address() -> pl.Expr:
    """A redirect link of the network around the product's own address."""
    link = (
        "https://northfork.pxf.io/c/2000417/1105327/13982?prodsku=NF-{}"
        "&u=https%3A%2F%2Fnorthfork.example%2F{}%3Fc%3D{}&intsrc=APIG"
    )
    return pl.format(link, "item", "item", pl.col("line").str.to_lowercase())


def _gtin() -> pl.Expr:
    """Twelve digits, the first zero and the last a right check digit."""
    body = 2_000_000_000 + pl.col("n") * 618_033_987 % 1_000_000_000
    digits = [body // 10**place % 10 * (1 if place % 2 else 3) for place in range(10)]
    check = (10 - pl.sum_horizontal(digits) % 10) % 10
    return pl.format("0{}{}", body, check)


def main() -> None:
    words = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    words.add_argument("folder", type=Path)
    words.add_argument("--rows", type=int, nargs="+", default=[50_000])
    words.add_argument("--seed", type=int, default=SEED)
    chosen = words.parse_args()
    for rows in chosen.rows:
        files = write(chosen.folder, rows, seed=chosen.seed)
        for path in files.values():
            print(f"{path} {path.stat().st_size:,} bytes", flush=True)


if __name__ == "__main__":
    main()
