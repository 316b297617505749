-- Start a job under its key's lock, if it may start: queued or waiting for its retry, and for a flow run of the
-- dispatcher's only the newest submission.
-- Params: id, tenant_id, pipeline, key, submission (null: any), worker_instance, parameters (null: as they are), now.
-- Grain: one row or none. Replay-safe: no.
UPDATE ingestion_jobs
   SET status = 'running', attempt = attempt + 1, next_retry_at = NULL,
       parameters = coalesce(%(parameters)s, parameters),
       worker_instance = %(worker_instance)s, started_at = %(now)s, updated_at = %(now)s
 WHERE id = %(id)s AND tenant_id = %(tenant_id)s AND pipeline = %(pipeline)s AND key = %(key)s
   AND (status = 'queued' OR (status = 'failed' AND next_retry_at IS NOT NULL))
   AND (%(submission)s::int IS NULL OR submission = %(submission)s)
RETURNING id, attempt, trigger, correlation_id, parameters
