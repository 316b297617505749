-- The number of a source's newest promotion, 0 before the first.
-- Params: source_id. Grain: one row. Replay-safe: yes.
SELECT coalesce(max(seq), 0) AS seq FROM promotions WHERE source_id = %(source_id)s
