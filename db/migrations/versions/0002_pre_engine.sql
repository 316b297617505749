-- What is written in bulk without foreign keys to sources and products, which nothing can delete any more; the dedupe
-- index in the order in which prices are written.
CREATE TRIGGER sources_kept BEFORE DELETE OR TRUNCATE ON sources
    FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
ALTER TABLE sources ENABLE ALWAYS TRIGGER sources_kept;
CREATE TRIGGER source_products_kept BEFORE DELETE OR TRUNCATE ON source_products
    FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
ALTER TABLE source_products ENABLE ALWAYS TRIGGER source_products_kept;
ALTER TABLE source_products DROP CONSTRAINT source_products_source_id_fkey;
COMMENT ON COLUMN source_products.source_id IS 'no foreign key: see decision 6';
ALTER TABLE prices DROP CONSTRAINT prices_source_product_id_fkey;
ALTER TABLE product_changes DROP CONSTRAINT product_changes_product_id_fkey;
COMMENT ON COLUMN prices.source_product_id IS 'no foreign key: see decision 6';
COMMENT ON COLUMN shelf_spans.product_id IS 'no foreign key: see decision 6';
COMMENT ON COLUMN product_changes.product_id IS 'no foreign key: see decision 6';
DROP INDEX prices_affiliate_dedupe;
CREATE UNIQUE INDEX prices_affiliate_dedupe ON prices (affiliate_feed_run_id, source_product_id, price_signature_hash)
    WHERE affiliate_feed_run_id IS NOT NULL;

ALTER TABLE feed_settings ADD COLUMN max_product_count integer;
ALTER TABLE feed_settings ADD CONSTRAINT feed_settings_max_product_count_positive CHECK (max_product_count > 0);
COMMENT ON COLUMN feed_settings.max_product_count IS 'null: as many as rows';

CREATE OR REPLACE VIEW affiliate_feeds AS
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
