-- The id of a retailer by its name, made if it is new.
-- Params: tenant_id, name, now. Grain: one row. Replay-safe: yes.
INSERT INTO retailers (tenant_id, name, created_at)
VALUES (%(tenant_id)s, %(name)s, %(now)s)
    ON CONFLICT (tenant_id, name) DO UPDATE SET name = excluded.name
RETURNING id
