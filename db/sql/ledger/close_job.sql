-- End a job that is running.
-- Params: id, status, error_code, error_message, error_class, now. Grain: one row or none. Replay-safe: yes.
UPDATE ingestion_jobs
   SET status = %(status)s, error_code = %(error_code)s, error_message = %(error_message)s,
       error_class = %(error_class)s, finished_at = greatest(%(now)s, started_at), updated_at = %(now)s
 WHERE id = %(id)s AND status = 'running'
RETURNING id
