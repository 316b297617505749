-- The new products of a batch. Nobody sees them before a promotion.
-- Params: source_id, run_id, observed_at. Grain: one row per product. Replay-safe: yes.
INSERT INTO source_products (source_id, identity_type, identity_value,
                             title, url, delivered_url, image_url, impact_item_id, sku, normalized_url_hash, upc, brand, category, description,
                             fingerprint, fingerprint_version, created_by_run_id, last_updated_by_run_id,
                             created_at, updated_at)
SELECT %(source_id)s, identity_type, identity_value,
       title, url, delivered_url, image_url, impact_item_id, sku, normalized_url_hash, upc, brand, category, description,
       fingerprint, fingerprint_version, %(run_id)s, %(run_id)s, %(observed_at)s, %(observed_at)s
  FROM staged_rows
 WHERE product_id IS NULL
    ON CONFLICT (source_id, identity_type, identity_value) DO NOTHING
