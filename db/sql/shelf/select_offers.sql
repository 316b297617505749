-- The offers of a moment (null: now), by id.
-- Params: tenant_id, key (null: every feed), at, after, limit (null: all). Grain: one row per offer. Replay-safe: yes.
SELECT *
  FROM offers_at(%(at)s::timestamptz)
 WHERE tenant_id = %(tenant_id)s AND (%(key)s::text IS NULL OR feed_key = %(key)s)
   AND source_product_id > %(after)s
 ORDER BY source_product_id
 LIMIT %(limit)s
