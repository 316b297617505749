-- The new products of a batch. Nobody sees them before a promotion.
-- Params: none. Grain: one row per product. Replay-safe: no, but the state that a run reads first holds them then.
COPY source_products (id, identity_type, identity_value,
                      title, url, delivered_url, image_url, impact_item_id, sku, normalized_url_hash, upc, brand, category, description,
                      fingerprint, fingerprint_version,
                      source_id, created_by_run_id, last_updated_by_run_id, created_at, updated_at)
FROM STDIN (FORMAT csv, NULL '\N')
