-- Jobs whose wait is over are queued again.
-- Params: now. Grain: one row per job. Replay-safe: yes.
UPDATE ingestion_jobs
   SET status = 'queued', next_retry_at = NULL, flow_run_id = NULL, submitted_at = NULL, updated_at = %(now)s
 WHERE id IN (SELECT id FROM ingestion_jobs WHERE next_retry_at <= %(now)s ORDER BY next_retry_at
                 FOR UPDATE SKIP LOCKED)
RETURNING id, tenant_id, pipeline, key, attempt
