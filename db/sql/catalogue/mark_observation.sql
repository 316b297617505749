-- Begin an attempt at reading a file: the next observation of the source, at a time not before its last.
-- Params: source_id, run_id, at. Grain: one row. Replay-safe: no, each attempt has a number of its own.
WITH next AS (
     UPDATE sources
        SET obs_seq = obs_seq + 1, last_stamp_at = greatest(last_stamp_at, %(at)s)
      WHERE id = %(source_id)s
     RETURNING obs_seq, last_stamp_at)
UPDATE catalogue_runs
   SET obs_seq = next.obs_seq, observed_at = next.last_stamp_at
  FROM next
 WHERE run_id = %(run_id)s
RETURNING catalogue_runs.obs_seq, catalogue_runs.observed_at
