-- Cancel what waits for a key: queued, or failed with a retry ahead.
-- Params: tenant_id, pipeline, key, error_code, error_message, now. Grain: one row per job. Replay-safe: yes.
UPDATE ingestion_jobs
   SET status = 'canceled', next_retry_at = NULL, error_code = %(error_code)s, error_message = %(error_message)s,
       finished_at = %(now)s, updated_at = %(now)s
 WHERE tenant_id = %(tenant_id)s AND pipeline = %(pipeline)s AND key = %(key)s
   AND (status = 'queued' OR (status = 'failed' AND next_retry_at IS NOT NULL))
RETURNING id
