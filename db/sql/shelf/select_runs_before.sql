-- The figures of phase two of a run and of the runs before it that processed a file, newest first.
-- Params: tenant_id, run_id, limit. Grain: one row per run. Replay-safe: yes.
SELECT run.id, run.started_at, run.status, run.rows_read, run.products_upserted, run.active_count_before,
       run.seen_success_count, run.would_expire_count, run.url_hash_fallback_count,
       run.expiry_blocked_reason, run.expiry_step_failed, run.expiry_approved_at, run.promotion_seq
  FROM affiliate_feed_runs this
  JOIN affiliate_feed_runs run ON run.feed_id = this.feed_id AND run.obs_seq < this.obs_seq
 WHERE this.id = %(run_id)s AND this.tenant_id = %(tenant_id)s
 ORDER BY run.obs_seq DESC
 LIMIT %(limit)s
