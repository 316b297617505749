-- The sources whose offers a shopper may see at a moment (null: now).
-- Params: tenant_id, key (null: every feed), at. Grain: one row per source. Replay-safe: yes.
SELECT visible.*, s.key AS feed_key, r.name AS retailer
  FROM visible_sources_at(%(at)s::timestamptz) visible
  JOIN retailers r ON r.id = visible.retailer_id
  LEFT JOIN feed_settings f ON f.source_id = visible.source_id
  LEFT JOIN schedules s ON s.id = f.schedule_id
 WHERE visible.tenant_id = %(tenant_id)s AND (%(key)s::text IS NULL OR s.key = %(key)s)
