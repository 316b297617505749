-- One run of a tenant.
-- Params: tenant_id, id. Grain: one row or none. Replay-safe: yes.
SELECT * FROM affiliate_feed_runs WHERE tenant_id = %(tenant_id)s AND id = %(id)s
