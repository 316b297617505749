-- Feeds whose shelf runs empty soon: three quarters of the window have passed since the newest promotion. Once per
-- promotion: not those that were announced since.
-- Params: now. Grain: one row per feed. Replay-safe: yes.
SELECT f.id, f.tenant_id, f.feed_key, newest.promoted_at + f.expiry_hours * interval '1 hour' AS expires_at,
       CASE WHEN f.status IN ('PAUSED', 'DISABLED') THEN lower(f.status)
            WHEN last.id IS NULL OR last.started_at <= newest.promoted_at THEN 'not run'
            WHEN last.status = 'FAILED' THEN 'failing'
            WHEN last.expiry_blocked OR last.expiry_step_failed THEN 'blocked'
            WHEN last.skipped_reason IS NOT NULL THEN 'unchanged'
            ELSE 'running' END AS cause
  FROM affiliate_feeds f
  JOIN LATERAL (
       SELECT k.promoted_at FROM promotions k WHERE k.source_id = f.source_id ORDER BY k.seq DESC LIMIT 1) newest
    ON newest.promoted_at + f.expiry_hours * interval '45 minutes' <= %(now)s
  LEFT JOIN LATERAL (
       SELECT r.* FROM affiliate_feed_runs r WHERE r.feed_id = f.id ORDER BY r.started_at DESC LIMIT 1) last ON true
 WHERE f.status NOT IN ('DRAFT', 'REMOVED')
   AND NOT EXISTS (
       SELECT FROM audit_events e
        WHERE e.tenant_id = f.tenant_id AND e.pipeline = 'catalogue' AND e.key = f.feed_key
          AND e.event_name = 'FEED_EXPIRING' AND e.occurred_at >= newest.promoted_at)
 ORDER BY f.id
