-- What differs between the shelf after one promotion of a source and the shelf after another (0: before the first):
-- products that came and went, and of those on both the ones whose price row differs or whose attributes a run between
-- them changed last. What the attributes said before is not kept.
-- Params: tenant_id, source_id, seq_before, seq_after. Grain: one row per product that differs. Replay-safe: yes.
WITH shelves AS (
     SELECT product_id,
            bool_or(from_seq <= %(seq_before)s AND (to_seq IS NULL OR to_seq >= %(seq_before)s)) AS was_on,
            bool_or(from_seq <= %(seq_after)s AND (to_seq IS NULL OR to_seq >= %(seq_after)s)) AS is_on,
            min(from_seq) <= %(seq_before)s AS was_known
       FROM shelf_spans
      WHERE source_id = %(source_id)s
      GROUP BY product_id),
     cutoffs AS (
     SELECT (SELECT cutoff_obs FROM promotions WHERE source_id = %(source_id)s AND seq = %(seq_before)s) AS before_obs,
            (SELECT cutoff_obs FROM promotions WHERE source_id = %(source_id)s AND seq = %(seq_after)s) AS after_obs),
     updaters AS (
     SELECT run_id
       FROM promotions
      WHERE source_id = %(source_id)s AND seq > least(%(seq_before)s, %(seq_after)s)
        AND seq <= greatest(%(seq_before)s, %(seq_after)s))
SELECT CASE WHEN shelves.was_on AND shelves.is_on THEN 'changed' WHEN shelves.was_on THEN 'left'
            WHEN shelves.was_known THEN 'returned' ELSE 'entered' END AS change,
       p.id AS source_product_id, p.identity_type, p.identity_value, p.title, p.brand, p.category,
       old.price_amount AS price_before, new.price_amount AS price_after,
       old.original_price AS original_price_before, new.original_price AS original_price_after,
       old.currency AS currency_before, new.currency AS currency_after,
       old.in_stock AS in_stock_before, new.in_stock AS in_stock_after,
       p.is_updated AS attributes_changed
  FROM shelves
 CROSS JOIN cutoffs
  JOIN LATERAL (
       SELECT product.*, product.last_updated_by_run_id IS DISTINCT FROM product.created_by_run_id
                         AND product.last_updated_by_run_id IN (SELECT run_id FROM updaters) AS is_updated
         FROM source_products product
        WHERE product.id = shelves.product_id) p ON true
  JOIN sources source ON source.id = p.source_id AND source.tenant_id = %(tenant_id)s
  LEFT JOIN LATERAL (
       SELECT latest.price_amount, latest.original_price, latest.currency, latest.in_stock
         FROM prices latest
        WHERE latest.source_product_id = p.id AND latest.obs_seq <= cutoffs.before_obs
        ORDER BY latest.obs_seq DESC, latest.id DESC
        LIMIT 1) old ON shelves.was_on
  LEFT JOIN LATERAL (
       SELECT latest.price_amount, latest.original_price, latest.currency, latest.in_stock
         FROM prices latest
        WHERE latest.source_product_id = p.id AND latest.obs_seq <= cutoffs.after_obs
        ORDER BY latest.obs_seq DESC, latest.id DESC
        LIMIT 1) new ON shelves.is_on
 WHERE shelves.was_on <> shelves.is_on
    OR (shelves.was_on AND shelves.is_on
        AND ((old.price_amount, old.original_price, old.currency, old.in_stock)
             IS DISTINCT FROM (new.price_amount, new.original_price, new.currency, new.in_stock)
             OR p.is_updated))
 ORDER BY p.id
