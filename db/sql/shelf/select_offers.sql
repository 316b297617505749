-- The offers of a moment (null: now), by id. A page of each source, then the first of them all: the walk along a
-- source's products stops at the limit, whatever else is on file.
-- Params: tenant_id, key (null: every feed), at, after, limit (null: all). Grain: one row per offer. Replay-safe: yes.
SELECT offer.*
  FROM sources src
  LEFT JOIN feed_settings f ON f.source_id = src.id
  LEFT JOIN schedules s ON s.id = f.schedule_id
 CROSS JOIN LATERAL (
       SELECT *
         FROM offers_at(%(at)s::timestamptz) offer
        WHERE offer.source_id = src.id AND offer.source_product_id > %(after)s
        ORDER BY offer.source_product_id
        LIMIT %(limit)s) offer
 WHERE src.tenant_id = %(tenant_id)s AND (%(key)s::text IS NULL OR s.key = %(key)s)
 ORDER BY offer.source_product_id
 LIMIT %(limit)s
