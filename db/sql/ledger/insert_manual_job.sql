-- A job for a run that a person asked for. Its slot is the moment of the request, or the next free one after it.
-- Params: id, tenant_id, pipeline, key, trigger, requested_by, correlation_id, now. Grain: one row. Replay-safe: no.
INSERT INTO ingestion_jobs (id, tenant_id, pipeline, key, slot, trigger, requested_by, correlation_id,
                            created_at, updated_at)
SELECT %(id)s, %(tenant_id)s, %(pipeline)s, %(key)s,
       coalesce((SELECT max(slot) + interval '1 microsecond'
                   FROM ingestion_jobs
                  WHERE tenant_id = %(tenant_id)s AND pipeline = %(pipeline)s AND key = %(key)s
                    AND slot >= %(now)s), %(now)s),
       %(trigger)s, %(requested_by)s, %(correlation_id)s, %(now)s, %(now)s
RETURNING id, trigger, attempt
