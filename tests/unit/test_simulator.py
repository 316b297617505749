import csv
import gzip
import hashlib
import subprocess
import sys
from io import StringIO
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest

from feedmill.simulator.assortment import BRANDS, LINES
from feedmill.simulator.catalogue import Catalogue, Product, make_catalogue, shop_price, with_check_digit
from feedmill.simulator.days import Changes, compare, next_day
from feedmill.simulator.files import feed_rows, write_csv

SIZE = 3_000
QUIET = {"price_moves": 0, "new": 0, "gone": 0, "sold_out": 0, "restocked": 0, "retitled": 0}
ROOT = Path(__file__).resolve().parents[2]

# Figures measured on one catalogue are compared for years: changed words change this on purpose, Python must not.
# Of the text, not of the gzip bytes: those depend on the zlib of the machine.
CONTENT_OF_SEED_7 = "2470b8598b6c"

TWO_DAYS = """
import sys
from pathlib import Path
from feedmill.simulator.catalogue import make_catalogue
from feedmill.simulator.days import next_day
from feedmill.simulator.files import write_csv

first = make_catalogue(7, 400)
write_csv(first, Path(sys.argv[1]) / "first.csv.gz")
write_csv(next_day(first, seed=7), Path(sys.argv[1]) / "second.csv.gz")
"""


@pytest.fixture(scope="module")
def catalogue() -> Catalogue:
    return make_catalogue(7, SIZE)


def products_after(days: int, catalogue: Catalogue) -> tuple[Product, ...]:
    for _ in range(days):
        catalogue = next_day(catalogue, seed=3)
    return catalogue.products


def two_days_in_a_fresh_process(folder: Path, hash_seed: str) -> list[str]:
    folder.mkdir()
    environment = {"PYTHONHASHSEED": hash_seed, "PYTHONPATH": str(ROOT)}
    subprocess.run([sys.executable, "-c", TWO_DAYS, str(folder)], check=True, env=environment)
    return [hashlib.sha256((folder / name).read_bytes()).hexdigest() for name in ("first.csv.gz", "second.csv.gz")]


def test_make_catalogue_gives_the_same_bytes_in_every_process(tmp_path):
    once = two_days_in_a_fresh_process(tmp_path / "once", hash_seed="1")
    again = two_days_in_a_fresh_process(tmp_path / "again", hash_seed="2")
    assert once == again
    assert once[0] != once[1]


def test_make_catalogue_never_changes_for_a_seed(tmp_path):
    path = tmp_path / "feed.csv"
    write_csv(next_day(make_catalogue(7, 400), seed=7), path)
    assert hashlib.sha256(path.read_bytes()).hexdigest()[:12] == CONTENT_OF_SEED_7


def test_make_catalogue_depends_on_the_seed(catalogue):
    other = make_catalogue(8, SIZE)
    assert not {p.item_id for p in catalogue.products} & {p.item_id for p in other.products}


def test_make_catalogue_of_smaller_size_is_the_beginning_of_a_larger(catalogue):
    assert make_catalogue(7, 100).products == catalogue.products[:100]


@pytest.mark.parametrize("size", [0, 1, 999])
def test_make_catalogue_has_the_size_asked_for(size):
    assert len(make_catalogue(1, size).products) == size


def test_make_catalogue_uses_the_whole_assortment(catalogue):
    assert {p.model.line for p in catalogue.products} == set(LINES)
    assert {p.model.brand for p in catalogue.products} == set(BRANDS)


@pytest.mark.parametrize("days", [pytest.param(0, id="first day"), pytest.param(5, id="after five days")])
@pytest.mark.parametrize("field", ["item_id", "sku", "url"])
def test_products_share_no_identity(catalogue, field, days):
    values = [getattr(p, field) for p in products_after(days, catalogue)]
    assert len(set(values)) == len(values)


def test_gtins_are_unique_twelve_digits_with_a_valid_check_digit(catalogue):
    gtins = [p.gtin for p in catalogue.products if p.gtin]
    assert len(set(gtins)) == len(gtins)
    for gtin in gtins:
        assert gtin.isdigit()
        assert len(gtin) == 12
        assert sum(int(digit) * weight for digit, weight in zip(gtin, (3, 1) * 6, strict=True)) % 10 == 0


def test_gtins_begin_with_zero_for_some_and_are_missing_for_a_few(catalogue):
    gtins = [p.gtin for p in catalogue.products]
    assert SIZE * 0.1 < sum(gtin.startswith("0") for gtin in gtins) < SIZE * 0.5
    assert SIZE * 0.01 < gtins.count("") < SIZE * 0.15


def test_with_check_digit_agrees_with_a_known_code():
    assert with_check_digit("03600029145") == "036000291452"


@pytest.mark.parametrize("days", [pytest.param(0, id="first day"), pytest.param(30, id="after a month")])
def test_prices_are_sane(catalogue, days):
    products = products_after(days, catalogue)
    for product in products:
        assert 0 < product.price_cents <= product.list_cents
        assert {product.price_cents % 100, product.list_cents % 100} <= {99, 95, 49}
    assert 0.1 < sum(p.on_sale for p in products) / len(products) < 0.45
    assert 0.03 < sum(not p.in_stock for p in products) / len(products) < 0.15


def test_prices_stay_below_list_prices_however_often_they_move(catalogue):
    for _ in range(10):
        catalogue = next_day(catalogue, seed=3, price_moves=1.0)
    assert all(0 < p.price_cents <= p.list_cents for p in catalogue.products)


@pytest.mark.parametrize(
    "cents, price",
    [
        pytest.param(1999, 1999, id="already a price"),
        pytest.param(1998, 1995, id="down to 95"),
        pytest.param(1994, 1949, id="down to 49"),
        pytest.param(2048, 1999, id="down to the dollar below"),
        pytest.param(12, 49, id="never nothing"),
    ],
)
def test_shop_price(cents, price):
    assert shop_price(cents) == price


def test_next_day_changes_as_much_as_it_was_told_to(catalogue):
    out_of_stock = sum(not p.in_stock for p in catalogue.products)
    after = next_day(catalogue, seed=5, price_moves=0.1, new=0.03, gone=0, sold_out=0.04, restocked=0.5, retitled=0.01)
    changes = compare(catalogue, after)
    assert changes == Changes(
        prices_moved=300,
        new=90,
        gone=0,
        sold_out=120,
        restocked=round(out_of_stock / 2),
        retitled=30,
        offers_changed=changes.offers_changed,
    )
    assert 300 < changes.offers_changed < 300 + 120 + changes.restocked


def test_next_day_with_the_default_rates(catalogue):
    changes = compare(catalogue, next_day(catalogue, seed=5))
    assert (changes.prices_moved, changes.new, changes.gone, changes.sold_out) == (180, 30, 30, 60)
    assert changes.restocked > 0
    assert changes.retitled == 6


@pytest.mark.parametrize(
    "rate, count",
    [
        pytest.param({"price_moves": 1.0}, {"prices_moved": SIZE, "offers_changed": SIZE}, id="every price"),
        pytest.param({"gone": 1.0}, {"gone": SIZE}, id="everything gone"),
        pytest.param({"new": 1.0}, {"new": SIZE}, id="twice as many"),
        pytest.param({"retitled": 1.0}, {"retitled": SIZE}, id="every title"),
        pytest.param({}, {}, id="nothing"),
    ],
)
def test_next_day_does_one_thing_only_when_told_so(catalogue, rate, count):
    nothing = Changes(prices_moved=0, new=0, gone=0, sold_out=0, restocked=0, retitled=0, offers_changed=0)
    changes = compare(catalogue, next_day(catalogue, seed=5, **(QUIET | rate)))
    assert {name: getattr(changes, name) for name in Changes.__slots__} == {
        name: count.get(name, getattr(nothing, name)) for name in Changes.__slots__
    }


def test_next_day_retitles_what_a_reader_can_see(catalogue):
    after = next_day(catalogue, seed=5, gone=0, retitled=1.0)
    assert all(old.title != new.title for old, new in zip(catalogue.products, after.products, strict=False))


def test_next_day_differs_from_day_to_day_with_one_seed(catalogue):
    second = next_day(catalogue, seed=5, **(QUIET | {"retitled": 0.1}))
    third = next_day(second, seed=5, **(QUIET | {"retitled": 0.1}))
    retitled = [
        [old.number for old, new in zip(before.products, after.products, strict=True) if old != new]
        for before, after in ((catalogue, second), (second, third))
    ]
    assert retitled[0] != retitled[1]


def test_next_day_puts_part_of_a_line_on_sale_together(catalogue):
    after = next_day(catalogue, seed=5, gone=0, new=0)
    begun = [new for old, new in zip(catalogue.products, after.products, strict=True) if new.on_sale > old.on_sale]
    ended = [new for old, new in zip(catalogue.products, after.products, strict=True) if old.on_sale > new.on_sale]
    assert len(begun) + len(ended) >= 100
    assert len({p.model.line for p in (*begun, *ended)}) <= 6


@pytest.mark.parametrize("name", [pytest.param("feed.csv", id="plain"), pytest.param("feed.csv.gz", id="gzip")])
@pytest.mark.parametrize("style", ["impact", "impact-sku"])
def test_write_csv_reads_back_the_same(tmp_path, catalogue, name, style):
    path = tmp_path / name
    assert write_csv(catalogue, path, style=style) == SIZE
    content = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    rows = [tuple(row) for row in csv.reader(StringIO(content.decode(), newline=""), strict=True)]
    assert rows == list(feed_rows(catalogue, style=style))
    assert ("CatalogItemId" in rows[0]) is (style == "impact")


def test_write_csv_with_tabs_quotes_nothing(tmp_path, catalogue):
    path = tmp_path / "feed.txt.gz"
    write_csv(catalogue, path, delimiter="\t")
    lines = gzip.decompress(path.read_bytes()).decode().splitlines()
    assert [tuple(line.split("\t")) for line in lines] == list(feed_rows(catalogue))


def test_write_csv_gives_the_same_bytes_under_another_name(tmp_path, catalogue):
    paths = tmp_path / "one.csv.gz", tmp_path / "another.csv.gz"
    for path in paths:
        write_csv(catalogue, path)
    header = paths[0].read_bytes()[:10]
    assert paths[0].read_bytes() == paths[1].read_bytes()
    assert header[3:8] == bytes(5)  # no file name, no time


def test_feed_rows_say_what_the_product_says(catalogue):
    header, *rows = feed_rows(catalogue, redirect=False)
    for product, values in zip(catalogue.products, rows, strict=True):
        row = dict(zip(header, values, strict=True))
        assert row["CatalogItemId"] == product.item_id
        assert row["Unique_Merchant_SKU"] == product.sku
        assert row["Product_URL"] == product.url
        assert row["Gtin"] == product.gtin
        assert row["Stock_Availability"] == ("Y" if product.in_stock else "N")
        assert round(float(row["Current_Price"]) * 100) == product.price_cents
        assert round(float(row["Original_Price"]) * 100) == product.list_cents


def test_feed_rows_link_through_a_redirect(catalogue):
    header, *rows = feed_rows(catalogue)
    for product, row in zip(catalogue.products, rows, strict=True):
        link = urlsplit(row[header.index("Product_URL")])
        assert (link.hostname, link.path) == ("northfork.pxf.io", "/c/12345/67890/1234")
        query = parse_qs(link.query, strict_parsing=True)
        assert query["prodsku"] == [product.sku]
        assert query["u"] == [f"{product.url}&utm_source=impact&utm_medium=affiliate"]


@pytest.mark.parametrize("sign", [",", '"', "&", "'", "é", "ø", "½", "™", "°"])
def test_titles_contain_what_parsers_stumble_over(catalogue, sign):
    assert any(sign in p.title for p in catalogue.products)


def test_texts_fit_the_old_encoding_and_addresses_are_ascii(catalogue):
    for product in catalogue.products:
        f"{product.title}{product.model.description}".encode("cp1252")
        assert f"{product.url}{product.image_url}".isascii()
