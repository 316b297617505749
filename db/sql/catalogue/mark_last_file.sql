-- Remember the file that a run processed, unless the feed was edited since the run began.
-- Params: run_id. Grain: one row or none. Replay-safe: yes.
UPDATE feed_settings f
   SET last_remote_mtime = r.remote_mtime, last_remote_size = r.remote_size, last_content_hash = r.content_hash
  FROM catalogue_runs r
 WHERE r.run_id = %(run_id)s AND f.id = r.feed_id AND f.config_version = r.config_version
