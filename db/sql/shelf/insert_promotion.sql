-- One promotion of a source.
-- Params: source_id, promoted_at, observed_at, cutoff_obs, run_id. Grain: one row. Replay-safe: no.
INSERT INTO promotions (source_id, seq, promoted_at, observed_at, cutoff_obs, run_id)
SELECT %(source_id)s, coalesce(max(seq), 0) + 1, %(promoted_at)s, %(observed_at)s, %(cutoff_obs)s, %(run_id)s
  FROM promotions
 WHERE source_id = %(source_id)s
RETURNING seq
