-- Remember the latest time written for a source.
-- Params: source_id, at. Grain: one row. Replay-safe: yes.
UPDATE sources SET last_stamp_at = greatest(last_stamp_at, %(at)s) WHERE id = %(source_id)s
