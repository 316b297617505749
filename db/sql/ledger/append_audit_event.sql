-- Note what happened, in the transaction in which it happened.
-- Params: tenant_id, event_name, level, actor, pipeline, key, run_id, job_id, correlation_id, fields, occurred_at.
-- Grain: one row per event. Replay-safe: no.
INSERT INTO audit_events (tenant_id, event_name, level, actor, pipeline, key, run_id, job_id, correlation_id,
                          fields, occurred_at)
VALUES (%(tenant_id)s, %(event_name)s, %(level)s, %(actor)s, %(pipeline)s, %(key)s, %(run_id)s, %(job_id)s,
        %(correlation_id)s, %(fields)s, %(occurred_at)s)
