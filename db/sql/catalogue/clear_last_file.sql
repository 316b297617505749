-- Forget the last processed file, so that the next run reads whatever is there.
-- Params: feed_id. Grain: one row. Replay-safe: yes.
UPDATE feed_settings
   SET last_remote_mtime = NULL, last_remote_size = NULL, last_content_hash = NULL
 WHERE id = %(feed_id)s
