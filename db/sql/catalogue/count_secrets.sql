-- How many feeds have a stored secret, of every tenant: they share one key.
-- Params: none. Grain: one row. Replay-safe: yes.
SELECT count(*) AS secret_count FROM feed_settings WHERE secret_ciphertext IS NOT NULL
