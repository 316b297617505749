-- The running jobs of a key whose lock the caller holds: their processes are gone. Another start while attempts last.
-- Params: tenant_id, pipeline, key, max_attempts, final_status, error_code, now. Grain: one row per job.
-- Replay-safe: yes.
UPDATE ingestion_jobs
   SET status = CASE WHEN attempt < %(max_attempts)s THEN 'queued' ELSE %(final_status)s END,
       finished_at = CASE WHEN attempt < %(max_attempts)s THEN NULL ELSE %(now)s::timestamptz END,
       submitted_at = NULL, flow_run_id = NULL,
       error_code = %(error_code)s, error_class = 'transient', error_message = 'the process of this job is gone',
       updated_at = %(now)s
 WHERE tenant_id = %(tenant_id)s AND pipeline = %(pipeline)s AND key = %(key)s AND status = 'running'
RETURNING id, status, attempt
