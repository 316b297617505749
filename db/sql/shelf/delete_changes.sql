-- Changes of this observation are applied, older ones never will be.
-- Params: source_id, obs_seq. Grain: one row per product and observation. Replay-safe: yes.
DELETE FROM product_changes WHERE source_id = %(source_id)s AND obs_seq <= %(obs_seq)s
