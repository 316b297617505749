-- Runs, newest first.
-- Params: tenant_id, key (null: every feed), limit. Grain: one row per run. Replay-safe: yes.
SELECT *
  FROM affiliate_feed_runs
 WHERE tenant_id = %(tenant_id)s AND (%(key)s::text IS NULL OR feed_key = %(key)s)
 ORDER BY started_at DESC, id DESC
 LIMIT %(limit)s
