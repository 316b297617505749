-- The narrow state of a source: what a file is compared with.
-- Params: source_id. Grain: one row per product. Replay-safe: yes.
COPY (
SELECT p.id, p.identity_type, p.identity_value, p.fingerprint, p.fingerprint_version,
       last.price_signature_hash, extract(epoch FROM last.created_at) * 1000000
  FROM source_products p
  LEFT JOIN LATERAL (
       SELECT price.price_signature_hash, price.created_at
         FROM prices price
        WHERE price.source_product_id = p.id
        ORDER BY price.obs_seq DESC, price.id DESC
        LIMIT 1) last ON true
 WHERE p.source_id = %(source_id)s
) TO STDOUT (FORMAT csv)
