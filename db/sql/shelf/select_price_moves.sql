-- The products on the shelf whose price a waiting run would move the furthest, by factor, up and down.
-- Params: tenant_id, run_id, limit (each way). Grain: one row per product. Replay-safe: yes.
WITH moved AS (
     SELECT p.id AS source_product_id, p.identity_value, p.title, shown.price_amount AS price_before,
            found.price_amount AS price_after, found.currency, found.price_amount / shown.price_amount AS factor
       FROM catalogue_runs run
       JOIN ingestion_runs life ON life.id = run.run_id
      CROSS JOIN LATERAL (
            SELECT k.cutoff_obs FROM promotions k WHERE k.source_id = run.source_id ORDER BY k.seq DESC LIMIT 1) newest
       JOIN sightings s ON s.source_id = run.source_id AND s.obs_seq = run.obs_seq
      CROSS JOIN unnest(s.product_ids) AS seen(product_id)
      CROSS JOIN LATERAL (
            SELECT latest.price_amount, latest.currency
              FROM prices latest
             WHERE latest.source_product_id = seen.product_id
               AND latest.obs_seq > newest.cutoff_obs AND latest.obs_seq <= run.obs_seq
             ORDER BY latest.obs_seq DESC, latest.id DESC
             LIMIT 1) found
       JOIN shelf_spans span ON span.product_id = seen.product_id AND span.to_seq IS NULL
      CROSS JOIN LATERAL (
            SELECT latest.price_amount, latest.currency
              FROM prices latest
             WHERE latest.source_product_id = seen.product_id AND latest.obs_seq <= newest.cutoff_obs
             ORDER BY latest.obs_seq DESC, latest.id DESC
             LIMIT 1) shown
       JOIN source_products p ON p.id = seen.product_id
      WHERE run.run_id = %(run_id)s AND life.tenant_id = %(tenant_id)s
        AND found.currency = shown.currency AND found.price_amount <> shown.price_amount AND shown.price_amount > 0)
SELECT source_product_id, identity_value, title, price_before, price_after, currency, round(factor, 4) AS factor
  FROM (SELECT *, row_number() OVER (ORDER BY factor DESC, source_product_id) AS up,
               row_number() OVER (ORDER BY factor, source_product_id) AS down
          FROM moved) ranked
 WHERE (factor > 1 AND up <= %(limit)s) OR (factor < 1 AND down <= %(limit)s)
 ORDER BY factor DESC, source_product_id
