-- The secrets that are not under this key, held until the transaction ends.
-- Params: key_id. Grain: one row per feed. Replay-safe: yes.
SELECT f.id, f.secret_ciphertext, f.secret_key_id, f.secret_version, s.tenant_id, s.key AS feed_key
  FROM feed_settings f
  JOIN schedules s ON s.id = f.schedule_id
 WHERE f.secret_ciphertext IS NOT NULL AND f.secret_key_id <> %(key_id)s
 ORDER BY f.id
   FOR UPDATE OF f
