-- The file is the one that was promoted last: a promotion that repeats the newest. None if a newer set waits, because
-- then the last file that was processed is not the one on the shelf.
-- Params: source_id, at, run_id. Grain: one row or none. Replay-safe: no.
INSERT INTO promotions (source_id, seq, promoted_at, observed_at, cutoff_obs, run_id)
SELECT newest.source_id, newest.seq + 1, %(at)s, %(at)s, newest.cutoff_obs, %(run_id)s
  FROM (SELECT * FROM promotions WHERE source_id = %(source_id)s ORDER BY seq DESC LIMIT 1) newest
 WHERE NOT EXISTS (
       SELECT FROM sightings s WHERE s.source_id = newest.source_id AND s.obs_seq > newest.cutoff_obs)
RETURNING seq
