-- Tell the staged rows of new products their ids.
-- Params: source_id. Grain: one row per new product. Replay-safe: yes.
UPDATE staged_rows s
   SET product_id = p.id
  FROM source_products p
 WHERE s.product_id IS NULL
   AND p.source_id = %(source_id)s AND p.identity_type = s.identity_type AND p.identity_value = s.identity_value
RETURNING p.id
