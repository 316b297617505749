-- The narrow state of a source: what a file is compared with. Amounts are ten-thousandths, times microseconds.
-- Params: source_id, fingerprint_version (of another one: null). Grain: one row per product. Replay-safe: yes.
COPY (
SELECT p.id, p.identity_type, p.identity_value,
       CASE WHEN p.fingerprint_version = %(fingerprint_version)s THEN p.fingerprint END,
       (last.price_amount * 10000)::bigint, (last.original_price * 10000)::bigint, last.currency, last.in_stock::int,
       (extract(epoch FROM last.created_at) * 1000000)::bigint
  FROM source_products p
  LEFT JOIN LATERAL (
       SELECT price.price_amount, price.original_price, price.currency, price.in_stock, price.created_at
         FROM prices price
        WHERE price.source_product_id = p.id
        ORDER BY price.obs_seq DESC, price.id DESC
        LIMIT 1) last ON true
 WHERE p.source_id = %(source_id)s
) TO STDOUT (FORMAT csv)
