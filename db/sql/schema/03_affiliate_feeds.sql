-- A feed as the seed has it. What the ledger owns (status, slots, lock, requests) lives in schedules.
CREATE VIEW affiliate_feeds AS
SELECT f.id, f.source_id, f.network, s.status,
       s.interval_seconds / 3600 AS schedule_frequency_hours, s.next_run_at,
       f.expiry_hours, s.consecutive_failures, s.last_run_at,
       f.transport, f.host, f.port, f.path, f.username,
       f.secret_ciphertext, f.secret_key_id, f.secret_version,
       f.format, f.compression,
       f.last_remote_mtime, f.last_remote_size, f.last_content_hash,
       f.max_file_size_bytes, f.max_row_count,
       s.lock_id AS feed_lock_id,
       -- An open request: later than the start of the last run, and than its end unless that run succeeded.
       coalesce(s.manual_requested_at > last.started_at, s.manual_requested_at IS NOT NULL)
           AND (coalesce(last.status IN ('running', 'completed'), true) OR s.manual_requested_at > last.finished_at)
           AS manual_run_pending,
       f.created_at, f.updated_at, f.created_by,
       s.tenant_id, s.key AS feed_key, f.schedule_id,
       src.retailer_id, r.name AS retailer, src.is_display_primary,
       src.affiliate_account_id, src.affiliate_tracking_template,
       f.heartbeat_hours, f.unchanged_policy, f.gates, f.host_key_fingerprint, f.config_version,
       s.manual_requested_at, src.obs_seq, src.last_stamp_at, f.max_product_count
  FROM feed_settings f
  JOIN schedules s ON s.id = f.schedule_id
  JOIN sources src ON src.id = f.source_id
  JOIN retailers r ON r.id = src.retailer_id
  LEFT JOIN LATERAL (
       SELECT run.started_at, run.finished_at, run.status
         FROM ingestion_runs run
        WHERE run.pipeline = s.pipeline AND run.key = s.key AND run.started_at IS NOT NULL
        ORDER BY run.started_at DESC
        LIMIT 1) last ON true;
