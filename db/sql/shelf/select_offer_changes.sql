-- A sample of the products on the shelf that a waiting run would change in a way that a gate looks at: their price by
-- a factor, their currency, or their stock.
-- Params: tenant_id, run_id, gate, factors, near, limit. Grain: one row per product. Replay-safe: yes.
WITH this AS (
     SELECT run.source_id, run.obs_seq
       FROM catalogue_runs run
       JOIN ingestion_runs life ON life.id = run.run_id
      WHERE run.run_id = %(run_id)s AND life.tenant_id = %(tenant_id)s),
seen AS MATERIALIZED (
     SELECT unnest(s.product_ids) AS product_id
       FROM this
       JOIN sightings s USING (source_id, obs_seq)),
changed AS MATERIALIZED (
     SELECT change.*
       FROM this
      CROSS JOIN LATERAL offer_changes_of(this.source_id, this.obs_seq) change)
SELECT p.id AS source_product_id, p.identity_value, p.title, change.price_before, change.currency_before,
       change.price_after, change.currency_after, change.in_stock_before, change.in_stock_after
  FROM changed change
  JOIN source_products p ON p.id = change.product_id
 WHERE (change.product_id IN (SELECT product_id FROM seen)) IS TRUE  -- a hash, as in select_offer_change_counts
   AND CASE %(gate)s::text
       WHEN 'price_factor' THEN change.currency_before = change.currency_after AND EXISTS (
            SELECT FROM unnest(%(factors)s::numeric[]) AS by(factor)
             WHERE change.price_after >= by.factor * change.price_before * (1 - %(near)s::numeric)
               AND change.price_after < by.factor * change.price_before * (1 + %(near)s::numeric))
       WHEN 'currency' THEN change.currency_before <> change.currency_after
       WHEN 'stock' THEN change.in_stock_before AND NOT change.in_stock_after
       END
 ORDER BY hashint8(p.id), p.id  -- from all over the catalogue, and the same ones each time
 LIMIT %(limit)s
