-- Read one schedule and keep others from changing it until the transaction ends.
-- Params: pipeline, key. Grain: one row or none. Replay-safe: yes.
SELECT id, tenant_id, status, interval_seconds, next_run_at, lock_id
  FROM schedules
 WHERE pipeline = %(pipeline)s AND key = %(key)s
   FOR UPDATE
