-- End a run that is running.
-- Params: id, status, error_code, error_message, error_class, now. Grain: one row or none. Replay-safe: yes.
UPDATE ingestion_runs
   SET status = %(status)s, active_stage = CASE WHEN %(status)s = 'completed' THEN 'summary' ELSE active_stage END,
       error_code = %(error_code)s, error_class = %(error_class)s,
       error_message = coalesce(error_message, %(error_message)s), last_error_message = %(error_message)s,
       finished_at = greatest(%(now)s, started_at), updated_at = %(now)s
 WHERE id = %(id)s AND status = 'running'
RETURNING id
