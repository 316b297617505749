-- A run of the key ended well: the count of failures begins anew.
-- Params: tenant_id, pipeline, key, now. Grain: one row. Replay-safe: yes.
UPDATE schedules
   SET consecutive_failures = 0, last_run_at = %(now)s, updated_at = %(now)s
 WHERE tenant_id = %(tenant_id)s AND pipeline = %(pipeline)s AND key = %(key)s
