-- Remember the file that a run processed, unless the feed was edited since the run began. A replay processed an old
-- file, so what it leaves is nothing: the next run reads whatever is there.
-- Params: run_id. Grain: one row or none. Replay-safe: yes.
UPDATE feed_settings f
   SET last_remote_mtime = r.remote_mtime, last_remote_size = r.remote_size,
       last_content_hash = CASE WHEN r.replayed_from_run_id IS NULL THEN r.content_hash END
  FROM catalogue_runs r
 WHERE r.run_id = %(run_id)s AND f.id = r.feed_id AND f.config_version = r.config_version
