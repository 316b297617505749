-- Forget the last processed file, so that the next run reads whatever is there.
-- Params: run_id. Grain: one row. Replay-safe: yes.
UPDATE feed_settings f
   SET last_remote_mtime = NULL, last_remote_size = NULL, last_content_hash = NULL
  FROM catalogue_runs r
 WHERE r.run_id = %(run_id)s AND f.id = r.feed_id
