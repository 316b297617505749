-- Pin the host key of a feed that has none pinned, which also makes the next run read the file whatever its date.
-- Params: id, fingerprint, now. Grain: one row, or none if a key is pinned. Replay-safe: yes.
UPDATE feed_settings
   SET host_key_fingerprint = %(fingerprint)s, config_version = config_version + 1, updated_at = %(now)s,
       last_remote_mtime = NULL, last_remote_size = NULL, last_content_hash = NULL
 WHERE id = %(id)s AND host_key_fingerprint IS NULL
RETURNING id
