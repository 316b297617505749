-- Attribute changes go once they are applied, or never will be.
-- Params: source_id, to_obs. Grain: one row per product and observation. Replay-safe: yes.
DELETE FROM product_changes WHERE source_id = %(source_id)s AND obs_seq <= %(to_obs)s
