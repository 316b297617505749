-- Fold, second half: the older sightings go.
-- Params: source_id, obs_seq. Grain: one row per batch. Replay-safe: yes.
DELETE FROM sightings WHERE source_id = %(source_id)s AND obs_seq < %(obs_seq)s
