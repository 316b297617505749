-- The attribute changes of a batch, waiting for promotion.
-- Params: none. Grain: one row per product and observation. Replay-safe: no, an attempt has an observation of its own.
COPY product_changes (product_id,
                      title, url, delivered_url, image_url, impact_item_id, sku, normalized_url_hash, upc, brand, category, description,
                      fingerprint, fingerprint_version,
                      source_id, obs_seq, run_id)
FROM STDIN (FORMAT csv, NULL '\N')
