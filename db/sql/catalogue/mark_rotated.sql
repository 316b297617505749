-- The same secret under another key. No setting changed, so the next run need not read the file again.
-- Params: id, secret_ciphertext, secret_key_id, secret_version. Grain: one row. Replay-safe: yes.
UPDATE feed_settings
   SET secret_ciphertext = %(secret_ciphertext)s, secret_key_id = %(secret_key_id)s,
       secret_version = %(secret_version)s
 WHERE id = %(id)s
