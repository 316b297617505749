-- Apply the attribute changes of the promoted observation.
-- Params: source_id, obs_seq, now. Grain: one row per product. Replay-safe: yes.
UPDATE source_products p
   SET title = c.title, url = c.url, delivered_url = c.delivered_url, image_url = c.image_url,
       impact_item_id = c.impact_item_id, sku = c.sku, normalized_url_hash = c.normalized_url_hash, upc = c.upc,
       brand = c.brand, category = c.category, description = c.description,
       fingerprint = c.fingerprint, fingerprint_version = c.fingerprint_version,
       last_updated_by_run_id = c.run_id, updated_at = %(now)s
  FROM product_changes c
 WHERE c.source_id = %(source_id)s AND c.obs_seq = %(obs_seq)s AND p.id = c.product_id
