"""The literal writes of the design (002, sections 2.3 to 2.6, 7.2 and 8.2), each done as one statement over all rows.

It has it easier than feedmill: it parses, checks and unwraps nothing, its ids are numbers, and it commits twice in all.
It stores the same attributes.
"""

from datetime import UTC, datetime
from decimal import Decimal

from benchmarks.catalogue.floor import copy_inflated, text_columns
from benchmarks.catalogue.job import FIRST, Job
from db import engine
from db.engine import Connection

_TABLES = """
    CREATE SCHEMA literal;
    SET search_path TO literal;
    CREATE TABLE affiliate_feed_runs (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, started_at timestamptz);
    CREATE TABLE source_products (
        id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, source_id bigint NOT NULL,
        identity_type text NOT NULL, identity_value text NOT NULL, title text NOT NULL, url text NOT NULL,
        image_url text, impact_item_id text, sku text, normalized_url_hash text, upc text, brand text, category text,
        description text, created_by_run_id bigint, last_updated_by_run_id bigint,
        created_at timestamptz NOT NULL, updated_at timestamptz NOT NULL,
        UNIQUE (source_id, identity_type, identity_value));
    CREATE INDEX ON source_products (source_id);
    CREATE INDEX ON source_products (impact_item_id);
    CREATE INDEX ON source_products (sku);
    CREATE TABLE source_product_presence (
        id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
        source_product_id bigint NOT NULL UNIQUE REFERENCES source_products ON DELETE CASCADE,
        last_seen_at timestamptz NOT NULL, last_seen_success_at timestamptz, updated_at timestamptz NOT NULL);
    CREATE INDEX ON source_product_presence (last_seen_success_at);
    CREATE TABLE source_product_seen (
        id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
        run_id bigint NOT NULL REFERENCES affiliate_feed_runs ON DELETE CASCADE,
        source_product_id bigint NOT NULL REFERENCES source_products ON DELETE CASCADE,
        created_at timestamptz NOT NULL, UNIQUE (run_id, source_product_id));
    CREATE INDEX ON source_product_seen (run_id);
    CREATE TABLE prices (
        id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
        source_product_id bigint REFERENCES source_products, price_amount numeric NOT NULL, original_price numeric,
        currency text NOT NULL, in_stock boolean NOT NULL, created_at timestamptz NOT NULL,
        affiliate_feed_run_id bigint REFERENCES affiliate_feed_runs ON DELETE SET NULL, price_signature_hash text);
    CREATE INDEX ON prices (source_product_id, created_at DESC);
    CREATE UNIQUE INDEX ON prices (source_product_id, affiliate_feed_run_id, price_signature_hash)
        WHERE affiliate_feed_run_id IS NOT NULL;
"""
_RUN = "INSERT INTO affiliate_feed_runs (started_at) VALUES (%(now)s) RETURNING id"
_PRODUCTS = """
    WITH upserted AS (
        INSERT INTO source_products AS known (
            source_id, identity_type, identity_value, title, url, image_url, impact_item_id, sku, normalized_url_hash,
            upc, brand, category, description, created_by_run_id, last_updated_by_run_id, created_at, updated_at)
        SELECT 1, 'IMPACT_ITEM_ID', "CatalogItemId", "Product_Name", "Product_URL", "Image_URL", "CatalogItemId",
               "Unique_Merchant_SKU", encode(sha256("Product_URL"::bytea), 'hex'), "Gtin", "Manufacturer", "Category",
               "Product_Description", %(run)s, %(run)s, %(now)s, %(now)s
          FROM staged
        ON CONFLICT (source_id, identity_type, identity_value) DO UPDATE
        SET title = excluded.title, url = excluded.url, image_url = excluded.image_url, sku = excluded.sku,
            impact_item_id = excluded.impact_item_id, normalized_url_hash = excluded.normalized_url_hash,
            upc = excluded.upc, brand = excluded.brand, category = excluded.category,
            description = excluded.description, last_updated_by_run_id = excluded.last_updated_by_run_id,
            updated_at = excluded.updated_at
        RETURNING id, identity_value)
    INSERT INTO resolved (id, item) SELECT id, identity_value FROM upserted
"""
_PRESENCE = """
    INSERT INTO source_product_presence AS known (source_product_id, last_seen_at, updated_at)
    SELECT id, %(now)s, %(now)s FROM resolved
    ON CONFLICT (source_product_id) DO UPDATE
    SET last_seen_at = excluded.last_seen_at, updated_at = excluded.updated_at
"""
_SEEN = """
    INSERT INTO source_product_seen (run_id, source_product_id, created_at) SELECT %(run)s, id, %(now)s FROM resolved
"""
_PRICES = """
    INSERT INTO prices (source_product_id, price_amount, original_price, currency, in_stock, created_at,
                        affiliate_feed_run_id, price_signature_hash)
    SELECT resolved.id, "Current_Price"::numeric, "Original_Price"::numeric, "Currency",
           "Stock_Availability" <> 'OutofStock', %(now)s, %(run)s, signature.hash
      FROM staged
      JOIN resolved ON resolved.item = staged."CatalogItemId"
      CROSS JOIN LATERAL (
           SELECT md5(concat_ws('|', "Current_Price", "Currency", "Original_Price", "Stock_Availability")) AS hash
           ) signature
      LEFT JOIN (SELECT DISTINCT ON (source_product_id) source_product_id, price_signature_hash
                   FROM prices
                  ORDER BY source_product_id, created_at DESC) latest ON latest.source_product_id = resolved.id
     WHERE latest.price_signature_hash IS DISTINCT FROM signature.hash
    ON CONFLICT DO NOTHING
"""
_BREAKER = """
    SELECT count(*) AS active_before, count(seen.id) AS seen_success
      FROM source_product_presence presence
      LEFT JOIN source_product_seen seen
        ON seen.source_product_id = presence.source_product_id AND seen.run_id = %(run)s
     WHERE presence.last_seen_success_at >= %(now)s - interval '48 hours'
"""
_PROMOTE = """
    UPDATE source_product_presence presence
       SET last_seen_success_at = %(now)s, updated_at = %(now)s
      FROM source_product_seen seen
     WHERE seen.run_id = %(run)s AND seen.source_product_id = presence.source_product_id
"""
_SHOWN = """
    SELECT count(*) AS products, sum(price_amount) AS total
      FROM (SELECT DISTINCT ON (source_product_id) source_product_id, price_amount
              FROM literal.prices
             ORDER BY source_product_id, created_at DESC) latest
      JOIN literal.source_product_presence presence USING (source_product_id)
     WHERE presence.last_seen_success_at IS NOT NULL
"""


def prepare(job: Job) -> None:
    if job.step == FIRST:
        with engine.open_connection(job.address) as conn:
            conn.execute(_TABLES)


def load(job: Job) -> dict[str, float]:
    now = datetime.now(UTC)
    with engine.open_connection(job.address) as conn:
        conn.execute("SET search_path TO literal")
        with engine.transaction(conn):
            run = _stage_and_write(conn, job, now)
        with engine.transaction(conn):
            conn.execute(_BREAKER, {"run": run, "now": now})
            conn.execute(_PROMOTE, {"run": run, "now": now})
    return {}


def _stage_and_write(conn: Connection, job: Job, now: datetime) -> int:
    run = engine.only_row(conn.execute(_RUN, {"now": now}))["id"]
    conn.execute(f"CREATE TEMP TABLE staged ({text_columns(job.file)})")
    conn.execute("CREATE TEMP TABLE resolved (id bigint, item text)")
    copy_inflated(conn, job.file, "staged")
    conn.execute(_PRODUCTS, {"run": run, "now": now})
    conn.execute("ANALYZE staged")
    conn.execute("ANALYZE resolved")
    for statement in (_PRESENCE, _SEEN, _PRICES):
        conn.execute(statement, {"run": run, "now": now})
    return run


def shown(job: Job, conn: Connection) -> tuple[int, Decimal]:
    del job
    found = engine.only_row(conn.execute(_SHOWN))
    return found["products"], found["total"]
