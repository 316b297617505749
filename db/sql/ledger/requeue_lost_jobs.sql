-- Give the running jobs of a key another start while attempts last; the others fail for good.
-- Whoever calls this holds the key's lock, so their processes are gone.
-- Params: tenant_id, pipeline, key, max_attempts, now. Grain: one row per job. Replay-safe: yes.
UPDATE ingestion_jobs
   SET status = CASE WHEN attempt < %(max_attempts)s THEN 'queued' ELSE 'failed' END,
       finished_at = CASE WHEN attempt < %(max_attempts)s THEN NULL ELSE %(now)s::timestamptz END,
       error_code = 'WORKER_LOST', error_class = 'transient', error_message = 'the process of this job is gone',
       updated_at = %(now)s
 WHERE tenant_id = %(tenant_id)s AND pipeline = %(pipeline)s AND key = %(key)s AND status = 'running'
RETURNING id, status, attempt
