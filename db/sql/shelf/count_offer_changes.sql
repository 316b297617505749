-- What the observation changes about the products that stay on the shelf, for the gates: by decimal factor of the price,
-- by currency, by stock. How many were in stock before follows from the file's own count, without reading the catalogue.
-- Params: source_id, obs_seq, run_id, factors, near. Grain: one row. Replay-safe: yes.
WITH marked AS (  -- sorted together, because a join of two sets of unknown size may become a nested loop
     SELECT either.*, bool_or(is_leaving) OVER (PARTITION BY product_id) AS leaves
       FROM (SELECT change.*, false AS is_leaving
               FROM offer_changes_of(%(source_id)s, %(obs_seq)s) change
              UNION ALL
             SELECT product_id, NULL, NULL, NULL, NULL, NULL, NULL, true
               FROM shelf_moves
              WHERE from_seq IS NOT NULL) either),
changed AS (SELECT * FROM marked WHERE NOT leaves),
entering AS (
     SELECT count(*) FILTER (WHERE price.in_stock) AS in_stock
       FROM shelf_moves move
      CROSS JOIN LATERAL (
            SELECT latest.in_stock
              FROM prices latest
             WHERE latest.source_product_id = move.product_id AND latest.obs_seq <= %(obs_seq)s
             ORDER BY latest.obs_seq DESC, latest.id DESC
             LIMIT 1) price
      WHERE move.from_seq IS NULL),
factors AS (
     SELECT by.factor, count(*) AS count
       FROM changed
       JOIN unnest(%(factors)s::numeric[]) AS by(factor)
         ON changed.price_after >= by.factor * changed.price_before * (1 - %(near)s::numeric)
        AND changed.price_after < by.factor * changed.price_before * (1 + %(near)s::numeric)
      WHERE changed.currency_before = changed.currency_after
      GROUP BY by.factor),
totals AS (
     SELECT count(*) FILTER (WHERE currency_before <> currency_after) AS currency_changed,
            count(*) FILTER (WHERE in_stock_before AND NOT in_stock_after) AS sold_out,
            count(*) FILTER (WHERE in_stock_after AND NOT in_stock_before) AS restocked
       FROM changed)
SELECT (SELECT coalesce(jsonb_object_agg(factor, count), '{}') FROM factors) AS by_factor,
       totals.currency_changed, totals.sold_out,
       run.products_in_stock - entering.in_stock + totals.sold_out - totals.restocked AS in_stock_before
  FROM catalogue_runs run, entering, totals
 WHERE run.run_id = %(run_id)s
