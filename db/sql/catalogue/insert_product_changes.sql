-- The attribute changes of a batch, waiting for promotion.
-- Params: source_id, obs_seq, run_id. Grain: one row per product and observation. Replay-safe: yes.
INSERT INTO product_changes (source_id, obs_seq, product_id, run_id,
                             title, url, delivered_url, image_url, impact_item_id, sku, normalized_url_hash, upc, brand, category, description,
                             fingerprint, fingerprint_version)
SELECT %(source_id)s, %(obs_seq)s, product_id, %(run_id)s,
       title, url, delivered_url, image_url, impact_item_id, sku, normalized_url_hash, upc, brand, category, description,
       fingerprint, fingerprint_version
  FROM staged_rows
 WHERE is_changed
    ON CONFLICT (source_id, obs_seq, product_id) DO NOTHING
