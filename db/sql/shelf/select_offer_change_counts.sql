-- How a waiting run would change the offers on the shelf, counted: prices by the band of their factor (its number among
-- the edges), currencies by what they were and would be, stock by which way.
-- Params: tenant_id, run_id, edges. Grain: one row per kind and group. Replay-safe: yes.
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
      CROSS JOIN LATERAL offer_changes_of(this.source_id, this.obs_seq) change),
kept AS (  -- IS TRUE makes it a hash: as a join of two sets of unknown size it becomes a nested loop
     SELECT * FROM changed WHERE (product_id IN (SELECT product_id FROM seen)) IS TRUE)
SELECT 'factor' AS kind, width_bucket(price_after / price_before, %(edges)s::numeric[]) AS band,
       NULL AS was, NULL AS becomes, count(*) AS count
  FROM kept
 WHERE currency_before = currency_after AND price_after <> price_before AND price_before > 0
 GROUP BY band
 UNION ALL
SELECT 'currency', NULL, currency_before, currency_after, count(*)
  FROM kept
 WHERE currency_before <> currency_after
 GROUP BY currency_before, currency_after
 UNION ALL
SELECT 'stock', NULL, NULL, CASE WHEN in_stock_after THEN 'in stock' ELSE 'sold out' END, count(*)
  FROM kept
 WHERE in_stock_before <> in_stock_after
 GROUP BY in_stock_after
 ORDER BY kind, band, count DESC, was, becomes
