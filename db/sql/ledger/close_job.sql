-- End a job that is running: for good, or with a retry ahead.
-- Params: id, status, next_retry_at, error_code, error_message, error_class, now. Grain: one row or none.
-- Replay-safe: yes.
UPDATE ingestion_jobs
   SET status = %(status)s, next_retry_at = %(next_retry_at)s, error_code = %(error_code)s,
       error_message = %(error_message)s, error_class = %(error_class)s,
       finished_at = CASE WHEN %(next_retry_at)s::timestamptz IS NULL THEN greatest(%(now)s, started_at) END,
       updated_at = %(now)s
 WHERE id = %(id)s AND status = 'running'
RETURNING id, attempt
