-- The samples of rejected and duplicate rows of a tenant's run.
-- Params: tenant_id, run_id. Grain: one row per sample. Replay-safe: yes.
SELECT e.code, e.message, e.row_number, e.raw_row, e.created_at
  FROM affiliate_feed_run_errors e
  JOIN ingestion_runs r ON r.id = e.run_id
 WHERE r.tenant_id = %(tenant_id)s AND e.run_id = %(run_id)s
 ORDER BY e.code, e.row_number, e.id
