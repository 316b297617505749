-- A sample of the products that a waiting run would put on the shelf, or take off it, with the price that it knows.
-- Params: tenant_id, run_id, entering, limit. Grain: one row per product. Replay-safe: yes.
SELECT p.id AS source_product_id, p.identity_type, p.identity_value, p.title, p.brand, p.category,
       price.price_amount AS price, price.currency
  FROM catalogue_runs run
  JOIN ingestion_runs life ON life.id = run.run_id
 CROSS JOIN LATERAL shelf_moves_of(run.source_id, run.obs_seq) move
  JOIN source_products p ON p.id = move.product_id
  LEFT JOIN LATERAL (
       SELECT latest.price_amount, latest.currency
         FROM prices latest
        WHERE latest.source_product_id = p.id AND latest.obs_seq <= run.obs_seq
        ORDER BY latest.obs_seq DESC, latest.id DESC
        LIMIT 1) price ON true
 WHERE run.run_id = %(run_id)s AND life.tenant_id = %(tenant_id)s AND (move.from_seq IS NULL) = %(entering)s
 ORDER BY hashint8(p.id), p.id  -- from all over the catalogue, and the same ones each time
 LIMIT %(limit)s
