-- Note the settings in force for a source from a moment on.
-- Params: source_id, at, is_removed. Grain: one row per change. Replay-safe: no.
INSERT INTO setting_log (source_id, n, at, expiry_hours, is_display_primary, is_removed)
SELECT src.id, coalesce((SELECT max(n) FROM setting_log WHERE source_id = src.id), 0) + 1, %(at)s,
       coalesce(f.expiry_hours, 48), src.is_display_primary, %(is_removed)s
  FROM sources src
  LEFT JOIN feed_settings f ON f.source_id = src.id
 WHERE src.id = %(source_id)s
