"""The second pass: the batches that a run writes, of which the file is read again for what is new or changed."""

from datetime import UTC, datetime

import polars as pl
import pytest

from tasks import files
from tasks.catalogue import diff, load, records, stream
from tasks.catalogue.fingerprints import FINGERPRINT_VERSION, price_signature
from tests.delivered import GOOD, lines, rows, survey, write

NOW = datetime(2026, 3, 2, 12, tzinfo=UTC)
WIDE = "ItemId,SKU,Name,Url,Price,SalePrice,Currency,Availability,Brand,Category,Description,Gtin,Image\n"


@pytest.fixture
def read(tmp_path):
    return lambda content: survey(write(tmp_path, content))


@pytest.fixture
def opened(monkeypatch):
    """The files that were opened, one entry each time."""
    paths = []
    open_for_read = files.open_for_read
    monkeypatch.setattr(files, "open_for_read", lambda path: paths.append(path) or open_for_read(path))
    return paths


def changes(surveyed, state=None):
    before = pl.DataFrame(schema=diff.state_schema()) if state is None else state
    return diff.with_changes(surveyed.products, before, now=NOW, heartbeat_hours=24)


def state_after(surveyed, **over):
    """The state of a source that has taken this file."""
    known = surveyed.products.with_columns(**over)
    ids = pl.int_range(1, 1 + pl.len(), dtype=pl.Int64)
    last = {f"last_{name}": name for name in ("price", "original_price", "currency", "in_stock")}
    facts = {"product_id": ids, "known_fingerprint": pl.col("fingerprint"), "last_priced_at": pl.lit(NOW)}
    named = known.select("identity_type", "identity_value", **facts, **last)
    return named.select(pl.col(name).cast(kind) for name, kind in diff.state_schema().items())


def whole(batches):
    """What all batches together write."""
    parts = list(batches)
    seen = pl.concat(part.seen for part in parts)
    new = pl.concat([part.new for part in parts if part.new.height] or [pl.DataFrame()])
    changed = pl.concat([part.changed for part in parts if part.changed.height] or [pl.DataFrame()])
    prices = pl.concat(part.prices for part in parts)
    return seen, new, changed, prices


def mixed(count=30):
    """A file with everything in it: ragged rows, rejected ones, duplicates, quoted line ends."""
    made = []
    for n, row in enumerate(rows(count), start=1):
        made.append(row if n % 4 else row.replace(f"Tent {n}", f'"Tent, ""{n}""\nfor two"'))
        made += ["ragged"] if n % 5 == 0 else []
        made += [f"x-{n},,,https://a,1"] if n % 7 == 0 else []
        made += [row.replace("Tent", "Later")] if n % 6 == 0 else []
    return lines(*made)


def test_batches_hold_every_product_once_and_in_order(read):
    surveyed = read(lines(*rows(7)))
    values = [
        batch.seen["identity_value"].to_list() for batch in load.batches(changes(surveyed), surveyed.reading, size=3)
    ]
    assert [len(batch) for batch in values] == [3, 3, 1]
    assert [value for batch in values for value in batch] == [f"i-{number}" for number in range(1, 8)]


@pytest.mark.spec("002 7.3")
@pytest.mark.parametrize("known", [0, 10, 30], ids=["all new", "some known", "all known and changed"])
def test_outcome_is_the_same_for_every_batch_and_block_size(read, monkeypatch, known):
    surveyed = read(mixed())
    state = state_after(surveyed)[:known].with_columns(known_fingerprint=pl.lit(0, dtype=pl.Int64))
    products = changes(surveyed, state)
    expected = whole(load.batches(products, surveyed.reading))
    assert [frame.height for frame in expected] == [30, 30 - known, known, 30 - known]
    for block in (50, 4_000):
        monkeypatch.setattr(stream, "BLOCK_BYTES", block)
        monkeypatch.setattr(records, "MOST_RECORD_BYTES", block * 4)
        for size in (1, 2, 7, 29, 30, 31):
            found = whole(load.batches(products, surveyed.reading, size=size))
            assert all(one.equals(other) for one, other in zip(found, expected, strict=True)), (block, size)


def test_batches_are_of_five_thousand_rows_by_themselves(read):
    surveyed = read(lines(*rows(5_001)))
    assert [batch.seen.height for batch in load.batches(changes(surveyed), surveyed.reading)] == [5_000, 1]


@pytest.mark.spec("002 7.2")
def test_only_what_changed_is_written(read):
    surveyed = read(lines(GOOD, "i-2,,B,https://b,1", "i-3,,C,https://c,1", "i-4,,D,https://d,1"))
    state = state_after(
        surveyed,
        fingerprint=pl.col("fingerprint") + (pl.col("identity_value") == "i-2"),
        price=pl.col("price") + (pl.col("identity_value") == "i-3"),
    ).filter(pl.col("identity_value") != "i-4")
    [batch] = load.batches(changes(surveyed, state), surveyed.reading)
    assert batch.seen["identity_value"].to_list() == ["i-1", "i-2", "i-3", "i-4"]
    assert batch.new["identity_value"].to_list() == ["i-4"]
    assert batch.changed.select("identity_value", "product_id").rows() == [("i-2", 2)]
    assert batch.prices.select("identity_value", "product_id", "price_reason").rows() == [
        ("i-3", 3, "changed"),
        ("i-4", None, "new"),
    ]


@pytest.mark.parametrize(
    "change, opens, writes",
    [
        pytest.param(lambda state: state, 0, (0, 0, 0), id="nothing changed"),
        pytest.param(lambda state: state.with_columns(last_price=pl.lit(1, pl.Int64)), 0, (0, 0, 20), id="prices only"),
        pytest.param(lambda state: state[:10], 1, (10, 0, 10), id="some are new"),
        pytest.param(lambda state: state.with_columns(known_fingerprint=None), 1, (0, 20, 0), id="all changed"),
    ],
)
def test_file_is_read_again_only_for_what_is_new_or_changed(read, opened, change, opens, writes):
    surveyed = read(lines(*rows(20)))
    products = changes(surveyed, change(state_after(surveyed)))
    opened.clear()
    _, new, changed, prices = whole(load.batches(products, surveyed.reading, size=3))
    assert (len(opened), (new.height, changed.height, prices.height)) == (opens, writes)


def test_file_is_not_read_further_than_the_last_row_that_changed(read, monkeypatch):
    monkeypatch.setattr(stream, "BLOCK_BYTES", 200)
    monkeypatch.setattr(records, "MOST_RECORD_BYTES", 100)
    surveyed = read(lines(*rows(300)))
    taken = []
    read_csv = pl.read_csv
    monkeypatch.setattr(pl, "read_csv", lambda *args, **options: taken.append(1) or read_csv(*args, **options))
    state = state_after(surveyed).filter(pl.col("identity_value") != "i-1")
    assert whole(load.batches(changes(surveyed, state), surveyed.reading))[1].height == 1
    assert len(taken) == 1


@pytest.mark.spec("002 3.5")
def test_attributes_are_everything_that_a_product_is(read):
    link = "https://northfork.pxf.io/c/1/2/3?u=https%3A%2F%2Fshop.example%2F1%3Futm_source%3Dx"
    row = f'i-1,s-1,"Tent ""2P""",{link},$18.99,15.99,eur,sold out,Cairn,Tents,"Two\nlines",020892215513,https://i/1'
    surveyed = read(lines(row.replace("$", ""), header=WIDE))
    [batch] = load.batches(changes(surveyed), surveyed.reading)
    [product] = batch.new.to_dicts()
    assert {name: product[name] for name in ("impact_item_id", "sku", "title", "url", "delivered_url")} == {
        "impact_item_id": "i-1",
        "sku": "s-1",
        "title": 'Tent "2P"',
        "url": "https://shop.example/1",
        "delivered_url": link,
    }
    assert (product["brand"], product["category"], product["description"]) == ("Cairn", "Tents", "Two\nlines")
    assert (product["upc"], product["image_url"]) == ("020892215513", "https://i/1")
    assert (product["fingerprint"], product["fingerprint_version"]) == (
        surveyed.products["fingerprint"][0],
        FINGERPRINT_VERSION,
    )
    [price] = batch.prices.to_dicts()
    told = ("price", "original_price", "currency", "in_stock", "price_reason")
    assert tuple(price[name] for name in told) == ("15.99", "18.99", "EUR", False, "new")
    assert price["signature"] == price_signature("15.99", "18.99", "EUR", in_stock=False)


def test_last_row_of_an_identity_gives_its_attributes(read):
    surveyed = read(lines("i-1,,First,https://a,1", *rows(5, first=2), "i-1,,Last,https://b,2"))
    new = whole(load.batches(changes(surveyed), surveyed.reading, size=2))[1]
    assert new.filter(pl.col("identity_value") == "i-1")["title"].to_list() == ["Last"]


def test_prices_of_new_products_get_their_ids(read):
    surveyed = read(lines(*rows(4)))
    [batch] = load.batches(changes(surveyed, state_after(surveyed, price=pl.lit(1))[:2]), surveyed.reading)
    ids = pl.Series([30, 40], dtype=pl.Int64)
    assert load.with_new_ids(batch.prices, batch.new, ids)["product_id"].to_list() == [1, 2, 30, 40]


def test_nothing_new_needs_no_ids(read):
    surveyed = read(lines(*rows(2)))
    [batch] = load.batches(changes(surveyed, state_after(surveyed, price=pl.lit(1))), surveyed.reading)
    none = pl.Series([], dtype=pl.Int64)
    assert load.with_new_ids(batch.prices, batch.new, none)["product_id"].to_list() == [1, 2]
