-- A run of the key failed; one that counts may be the one too many, which disables the key.
-- Params: tenant_id, pipeline, key, counts, failures_to_disable, now. Grain: one row. Replay-safe: no.
UPDATE schedules
   SET consecutive_failures = consecutive_failures + %(counts)s::int, last_run_at = %(now)s, updated_at = %(now)s,
       status = CASE WHEN status = 'ENABLED' AND %(counts)s AND consecutive_failures + 1 >= %(failures_to_disable)s
                     THEN 'DISABLED' ELSE status END,
       next_run_at = CASE WHEN status = 'ENABLED' AND %(counts)s
                               AND consecutive_failures + 1 >= %(failures_to_disable)s
                          THEN NULL ELSE next_run_at END
 WHERE tenant_id = %(tenant_id)s AND pipeline = %(pipeline)s AND key = %(key)s
RETURNING status, consecutive_failures
