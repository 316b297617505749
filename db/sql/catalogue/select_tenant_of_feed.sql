-- Whose feed a key names; keys are unique over all tenants.
-- Params: key. Grain: one row or none. Replay-safe: yes.
SELECT tenant_id FROM schedules WHERE pipeline = 'catalogue' AND key = %(key)s
