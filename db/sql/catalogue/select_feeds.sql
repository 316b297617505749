-- The feeds of a tenant with the outcome of their last run.
-- Params: tenant_id, with_removed. Grain: one row per feed. Replay-safe: yes.
SELECT f.*, last.status AS last_run_status
  FROM affiliate_feeds f
  LEFT JOIN LATERAL (
       SELECT run.status
         FROM affiliate_feed_runs run
        WHERE run.feed_id = f.id
        ORDER BY run.started_at DESC
        LIMIT 1) last ON true
 WHERE f.tenant_id = %(tenant_id)s AND (%(with_removed)s OR f.status <> 'REMOVED')
 ORDER BY f.feed_key
