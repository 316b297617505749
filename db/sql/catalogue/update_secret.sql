-- Store a feed's encrypted password or private key, which also makes the next run read the file whatever its date.
-- Params: id, secret_kind, secret_ciphertext, secret_key_id, secret_version, now. Grain: one row. Replay-safe: yes.
UPDATE feed_settings
   SET secret_kind = %(secret_kind)s, secret_ciphertext = %(secret_ciphertext)s, secret_key_id = %(secret_key_id)s,
       secret_version = %(secret_version)s, config_version = config_version + 1, updated_at = %(now)s,
       last_remote_mtime = NULL, last_remote_size = NULL, last_content_hash = NULL
 WHERE id = %(id)s
