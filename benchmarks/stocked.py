"""A feed with many products for the benchmarks of the shelf: written by statements, not by runs, in seconds."""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta

from db import catalogue, embedded, engine
from db.catalogue import Observation
from db.clock import Clock, system_now
from db.engine import Connection, transaction
from tasks.catalogue import config, registry
from tasks.run import Run

KEY = "stocked"
START = system_now() - timedelta(hours=12)  # within the window of what is active now
BATCH = 5_000

_PRODUCTS = """
    INSERT INTO source_products (source_id, identity_type, identity_value, title, url, delivered_url, image_url,
                                 impact_item_id, sku, upc, brand, category, description, fingerprint,
                                 fingerprint_version, created_at, updated_at)
    SELECT %(source_id)s, 'IMPACT_ITEM_ID', n::text, 'Ridgeline Tent, three seasons, number ' || n,
           'https://shop.example/p/' || n, 'https://shop.pxf.io/c/1/2/3?prodsku=' || n, 'https://shop.example/i/' || n,
           n::text, 'SKU-' || n, lpad(n::text, 12, '0'), 'Brand ' || n %% 60, 'Category ' || n %% 40,
           repeat('A text of some length. ', 8), n, 1, %(now)s, %(now)s
      FROM generate_series(1, %(size)s) n
"""
_PRICES = """
    INSERT INTO prices (source_product_id, obs_seq, price_amount, original_price, currency, in_stock, reason,
                        price_signature_hash, created_at)
    SELECT id, 1, id %% 1000 + 0.99, NULL, 'USD', true, 'new', md5(id::text), %(now)s
      FROM source_products
     ORDER BY id
"""
_SIGHTINGS = """
    INSERT INTO sightings (source_id, obs_seq, batch_no, run_id, seen_at, product_ids)
    SELECT %(source_id)s, %(obs_seq)s, id / %(batch)s, %(run_id)s, %(observed_at)s, array_agg(id ORDER BY id)
      FROM source_products
     WHERE source_id = %(source_id)s AND id %% 100 < %(keeps)s
     GROUP BY id / %(batch)s
"""
_FIGURES = """
    UPDATE catalogue_runs
       SET products_upserted = seen.count, products_created = 0, products_changed = 0, products_unchanged = seen.count,
           rows_read = seen.count, products_rejected = 0, url_hash_fallback_count = 0,
           products_in_stock = seen.count
      FROM (SELECT sum(cardinality(product_ids)) AS count FROM sightings WHERE obs_seq = %(obs_seq)s) seen
     WHERE run_id = %(run_id)s
"""


@contextmanager
def stocked(size: int) -> Iterator[Connection]:
    """A connection to an embedded database, of default durability, with one primary feed of so many products."""
    with tempfile.TemporaryDirectory(prefix="feedmill-bench-") as home:
        os.environ |= {"FEEDMILL_HOME": home}
        os.environ.pop("FEEDMILL_DATABASE_URL", None)
        try:
            with engine.connect() as conn:
                _fill(conn, size)
                yield conn
        finally:
            embedded.remove()


def _fill(conn: Connection, size: int) -> None:
    settings = registry.FeedSettings(config.parse_address("file:///catalog.csv"))
    new = registry.NewFeed(KEY, "default", "Stocked", settings, is_enabled=True, is_primary=True)
    feed = registry.add_feed(conn, new, registry.Actor("benchmark", Clock(START)))
    params = {"source_id": feed["source_id"], "size": size, "now": START}
    conn.execute(_PRODUCTS, params)
    conn.execute(_PRICES, params)
    conn.execute("VACUUM ANALYZE")


def observe(run: Run, *, keeps: float = 1.0) -> Observation:
    """What the loading of a file leaves that has this share of all products, spread evenly, none of them changed."""
    source_id = run.target.details["source_id"]
    with transaction(run.conn):
        seen = catalogue.mark_observation(run.conn, source_id, run.id, at=run.now())
        run.conn.execute(_SIGHTINGS, {**vars(seen), "keeps": round(keeps * 100), "batch": BATCH})
        run.conn.execute(_FIGURES, vars(seen))
    return seen
