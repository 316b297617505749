-- A catalogue run as the seed has it. Its life is the ledger's (ingestion_runs), its figures the catalogue's.
CREATE VIEW affiliate_feed_runs AS
SELECT r.id, c.feed_id, c.source_id, r.trigger,
       CASE r.status WHEN 'completed' THEN 'SUCCEEDED' WHEN 'running' THEN 'RUNNING' ELSE 'FAILED' END AS status,
       r.started_at, r.finished_at,
       (extract(epoch FROM r.finished_at - r.started_at) * 1000)::bigint AS duration_ms,
       c.download_bytes, c.rows_read, c.rows_parsed,
       c.products_upserted, c.products_expired, c.products_rejected, c.prices_written,
       c.error_count, c.duplicate_key_count, c.url_hash_fallback_count,
       c.active_count_before, c.seen_success_count, c.would_expire_count,
       r.status IN ('failed', 'canceled') AND c.prices_written IS NOT NULL AS is_partial, c.expiry_step_failed, c.skipped_reason,
       c.expiry_blocked, c.expiry_blocked_reason, c.expiry_approved_at, c.expiry_approved_by,
       c.artifact_url,
       c.expiry_rejected_at, c.expiry_rejected_by, c.expiry_rejected_reason,
       c.products_created, c.products_changed, c.products_unchanged, c.products_returned, c.products_vanished,
       c.inflated_bytes, c.rejected_by_code, c.blocked_reasons,
       c.replayed_from_run_id, c.plan_digest, c.promotion_seq,
       c.content_hash, c.remote_mtime, c.remote_size, c.detected,
       r.error_code, r.error_message, r.error_class,
       r.tenant_id, r.key AS feed_key, r.job_id, r.correlation_id, r.worker_instance,
       c.obs_seq, c.observed_at, c.config_version
  FROM catalogue_runs c
  JOIN ingestion_runs r ON r.id = c.run_id
 WHERE r.status <> 'pending';
