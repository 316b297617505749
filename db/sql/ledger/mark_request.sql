-- Remember the newest request for a run of a key.
-- Params: tenant_id, pipeline, key, at, by. Grain: one row. Replay-safe: yes.
UPDATE schedules
   SET manual_requested_at = greatest(manual_requested_at + interval '1 microsecond', %(at)s), manual_requested_by = %(by)s,
       updated_at = %(at)s
 WHERE tenant_id = %(tenant_id)s AND pipeline = %(pipeline)s AND key = %(key)s
RETURNING manual_requested_at
