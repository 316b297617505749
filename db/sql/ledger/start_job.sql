-- Start a job under its key's lock, if it may start: queued, or waiting for its retry.
-- Params: id, worker_instance, now. Grain: one row or none. Replay-safe: no.
UPDATE ingestion_jobs
   SET status = 'running', attempt = attempt + 1, next_retry_at = NULL,
       worker_instance = %(worker_instance)s, started_at = %(now)s, updated_at = %(now)s
 WHERE id = %(id)s AND (status = 'queued' OR (status = 'failed' AND next_retry_at IS NOT NULL))
RETURNING id, attempt, trigger, correlation_id
