-- Put a key on the schedule.
-- Params: tenant_id, pipeline, key, status, interval_seconds, next_run_at, now. Grain: one row per key. Replay-safe: no,
-- a key that exists raises a unique violation.
INSERT INTO schedules (tenant_id, pipeline, key, status, interval_seconds, next_run_at, created_at, updated_at)
VALUES (%(tenant_id)s, %(pipeline)s, %(key)s, %(status)s, %(interval_seconds)s, %(next_run_at)s, %(now)s, %(now)s)
RETURNING id
