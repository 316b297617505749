-- One feed of a tenant with the outcome of its last run.
-- Params: tenant_id, key. Grain: one row or none. Replay-safe: yes.
SELECT f.*, last.status AS last_run_status
  FROM affiliate_feeds f
  LEFT JOIN LATERAL (
       SELECT run.status
         FROM affiliate_feed_runs run
        WHERE run.feed_id = f.id
        ORDER BY run.started_at DESC
        LIMIT 1) last ON true
 WHERE f.tenant_id = %(tenant_id)s AND f.feed_key = %(key)s
