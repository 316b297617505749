"""The digest of a plan: the same for the same writes, another for anything that would be written otherwise."""

import polars as pl
import pytest

from tasks.catalogue import breaker, diff
from tasks.catalogue.parse import Limits
from tasks.catalogue.plan import Basis, digest_of
from tasks.catalogue.survey import survey_file
from tests.mill import csv_text, row

BASIS = Basis("ab" * 32, 3, breaker.limits_of({}))


@pytest.fixture
def products(tmp_path):
    def read(*rows):
        path = tmp_path / "catalog.csv"
        path.write_text(csv_text(rows))
        return survey_file(path, Limits(max_rows=100, max_bytes=100_000)).products

    return read


def state(products):
    """What a source knows once these products are written."""
    known = {
        "product_id": pl.int_range(pl.len(), dtype=pl.Int64),
        "known_fingerprint": pl.col("fingerprint"),
        **{f"last_{name}": pl.col(name) for name in ("price", "original_price", "currency", "in_stock")},
        "last_priced_at": pl.lit(None, dtype=pl.Datetime("us", "UTC")),
    }
    return products.select(**known, identity_type="identity_type", identity_value="identity_value").select(
        diff.state_schema().keys()
    )


NOTHING = pl.DataFrame(schema=diff.state_schema())


def test_order_and_rows_that_write_nothing_do_not_count(products):
    both, turned = products(row(1), row(2)), products(row(2), row(1))
    assert digest_of(both, NOTHING, BASIS) == digest_of(turned, NOTHING, BASIS)
    known = state(products(row(1)))
    assert digest_of(both, known, BASIS) == digest_of(products(row(2)), known, BASIS)


OTHERS = {
    "price": {"price": "11.00"},
    "original price": {"original": "90.00"},
    "currency": {"currency": "EUR"},
    "stock": {"stock": "N"},
    "title": {"name": "Tarp"},
    "identity": {"item": "item-9"},
    "kind of identity": {"item": "", "sku": "item-1"},
}


@pytest.mark.parametrize("cells", OTHERS.values(), ids=OTHERS)
@pytest.mark.parametrize("is_known", [True, False], ids=["known product", "new product"])
def test_everything_that_would_be_written_counts(products, cells, is_known):
    before = state(products(row(1, price="5.00", name="Old"))) if is_known else NOTHING
    assert digest_of(products(row(1, **cells)), before, BASIS) != digest_of(products(row(1)), before, BASIS)


def test_which_of_attributes_and_price_is_written_counts(products):
    now = products(row(1))
    befores = [
        state(products(row(1, name="Old"))),
        state(products(row(1, price="5.00"))),
        state(products(row(1, name="Old", price="5.00"))),
        NOTHING,
    ]
    digests = {digest_of(now, before, BASIS) for before in befores}
    assert len(digests) == 3  # a product that is new writes what one writes of which everything changed


@pytest.mark.parametrize(
    "other",
    [
        pytest.param(Basis("cd" * 32, 3, BASIS.limits), id="file"),
        pytest.param(Basis("ab" * 32, 4, BASIS.limits), id="promotion"),
        pytest.param(Basis("ab" * 32, 3, breaker.limits_of({"spike": {"share": 0.31}})), id="limit"),
        pytest.param(Basis("ab" * 32, 3, breaker.limits_of({"spike": False})), id="gate that is off"),
    ],
)
def test_the_basis_counts(products, other):
    found = products(row(1))
    assert digest_of(found, NOTHING, other) != digest_of(found, NOTHING, BASIS)
