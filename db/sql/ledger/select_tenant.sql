-- One tenant.
-- Params: tenant_id. Grain: one row or none. Replay-safe: yes.
SELECT id, name, plan FROM tenants WHERE id = %(tenant_id)s
