-- Whose run an id names.
-- Params: id. Grain: one row or none. Replay-safe: yes.
SELECT tenant_id FROM ingestion_runs WHERE id = %(id)s
