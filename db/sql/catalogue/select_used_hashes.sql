-- Of these files, those that a run of any tenant used since a moment.
-- Params: hashes, since. Grain: one row per file. Replay-safe: yes.
SELECT DISTINCT c.content_hash
  FROM catalogue_runs c
  JOIN ingestion_runs r ON r.id = c.run_id
 WHERE c.content_hash = ANY (%(hashes)s) AND r.started_at >= %(since)s
