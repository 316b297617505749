-- One schedule by its key.
-- Params: pipeline, key. Grain: one row or none. Replay-safe: yes.
SELECT id, tenant_id, pipeline, key, status, lock_id, consecutive_failures
  FROM schedules
 WHERE pipeline = %(pipeline)s AND key = %(key)s
