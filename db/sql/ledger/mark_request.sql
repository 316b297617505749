-- Remember the newest request for a run of a key. It counts as made after what the key's last run has stamped so far,
-- however the clock stands: a tie would make it part of that run.
-- Params: tenant_id, pipeline, key, at, by. Grain: one row. Replay-safe: yes.
UPDATE schedules
   SET manual_requested_at = greatest(
           %(at)s, manual_requested_at + interval '1 microsecond',
           (SELECT coalesce(run.finished_at, run.started_at) + interval '1 microsecond'
              FROM ingestion_runs run
             WHERE run.tenant_id = %(tenant_id)s AND run.pipeline = %(pipeline)s AND run.key = %(key)s
               AND run.started_at IS NOT NULL
             ORDER BY run.started_at DESC
             LIMIT 1)),
       manual_requested_by = %(by)s, updated_at = %(at)s
 WHERE tenant_id = %(tenant_id)s AND pipeline = %(pipeline)s AND key = %(key)s
RETURNING manual_requested_at
