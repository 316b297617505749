-- Close every running record of a key. Whoever calls this holds the key's lock, so their processes are gone.
-- Params: tenant_id, pipeline, key, error_code, now. Grain: one row per run. Replay-safe: yes.
UPDATE ingestion_runs
   SET status = 'failed', error_code = %(error_code)s, error_class = 'transient',
       finished_at = greatest(%(now)s, started_at),
       error_message = coalesce(error_message, 'the process of this run is gone'),
       last_error_message = 'the process of this run is gone', updated_at = %(now)s
 WHERE tenant_id = %(tenant_id)s AND pipeline = %(pipeline)s AND key = %(key)s AND status = 'running'
RETURNING id, job_id
