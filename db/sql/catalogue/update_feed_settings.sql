-- Write a feed's settings after an edit, which also makes the next run read the file whatever its date.
-- Params: id, the settings, now. Grain: one row. Replay-safe: yes but for config_version.
UPDATE feed_settings
   SET expiry_hours = %(expiry_hours)s, heartbeat_hours = %(heartbeat_hours)s,
       unchanged_policy = %(unchanged_policy)s, gates = %(gates)s,
       transport = %(transport)s, host = %(host)s, port = %(port)s, path = %(path)s, username = %(username)s,
       host_key_fingerprint = %(host_key_fingerprint)s, compression = %(compression)s,
       max_file_size_bytes = %(max_file_size_bytes)s, max_row_count = %(max_row_count)s,
       max_product_count = %(max_product_count)s,
       last_remote_mtime = NULL, last_remote_size = NULL, last_content_hash = NULL,
       config_version = config_version + 1, updated_at = %(now)s
 WHERE id = %(id)s
