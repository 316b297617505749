-- What a run fetched.
-- Params: run_id, download_bytes, content_hash, remote_mtime, remote_size. Grain: one row. Replay-safe: yes.
UPDATE catalogue_runs
   SET download_bytes = %(download_bytes)s, content_hash = %(content_hash)s,
       remote_mtime = %(remote_mtime)s, remote_size = %(remote_size)s
 WHERE run_id = %(run_id)s
