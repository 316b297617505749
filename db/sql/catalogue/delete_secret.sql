-- Forget a feed's password or private key.
-- Params: id, now. Grain: one row. Replay-safe: yes.
UPDATE feed_settings SET secret_ciphertext = NULL, secret_key_id = NULL, updated_at = %(now)s WHERE id = %(id)s
