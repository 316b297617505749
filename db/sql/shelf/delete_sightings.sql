-- Sightings go once a fold or a promotion tells the same.
-- Params: source_id, from_obs, to_obs. Grain: one row per batch. Replay-safe: yes.
DELETE FROM sightings WHERE source_id = %(source_id)s AND obs_seq BETWEEN %(from_obs)s AND %(to_obs)s
