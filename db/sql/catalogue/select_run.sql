-- One run.
-- Params: id. Grain: one row or none. Replay-safe: yes.
SELECT * FROM affiliate_feed_runs WHERE id = %(id)s
