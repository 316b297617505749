-- The record of a run, made by whoever holds the key's lock.
-- Params: id, tenant_id, pipeline, key, source_id, job_id, trigger, worker_instance, correlation_id, now.
-- Grain: one row. Replay-safe: no.
INSERT INTO ingestion_runs (id, tenant_id, pipeline, key, source_id, job_id, trigger, status, active_stage,
                            worker_instance, correlation_id, created_at, started_at, updated_at)
VALUES (%(id)s, %(tenant_id)s, %(pipeline)s, %(key)s, %(source_id)s, %(job_id)s, %(trigger)s, 'running', 'discovery',
        %(worker_instance)s, %(correlation_id)s, %(now)s, %(now)s, %(now)s)
