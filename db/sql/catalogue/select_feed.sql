-- One feed by its key, which is unique over all tenants.
-- Params: key. Grain: one row or none. Replay-safe: yes.
SELECT * FROM affiliate_feeds WHERE feed_key = %(key)s
