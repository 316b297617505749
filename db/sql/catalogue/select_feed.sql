-- One feed of a tenant.
-- Params: tenant_id, key. Grain: one row or none. Replay-safe: yes.
SELECT * FROM affiliate_feeds WHERE tenant_id = %(tenant_id)s AND feed_key = %(key)s
