-- The samples of rejected and duplicate rows of a run.
-- Params: run_id. Grain: one row per sample. Replay-safe: yes.
SELECT code, message, row_number, raw_row, created_at
  FROM affiliate_feed_run_errors
 WHERE run_id = %(run_id)s
 ORDER BY code, row_number, id
