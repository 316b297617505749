-- The job of a key that is queued or waits for its retry, kept from others until the transaction ends.
-- Params: tenant_id, pipeline, key. Grain: one row or none. Replay-safe: yes.
SELECT id, status, trigger, attempt
  FROM ingestion_jobs
 WHERE tenant_id = %(tenant_id)s AND pipeline = %(pipeline)s AND key = %(key)s
   AND (status = 'queued' OR (status = 'failed' AND next_retry_at IS NOT NULL))
   FOR UPDATE
