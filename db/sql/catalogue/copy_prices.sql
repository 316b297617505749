-- The first prices of the new products of a batch.
-- Params: none. Grain: one row per product. Replay-safe: no, but no other price can name a product of this transaction.
COPY prices (source_product_id, price_amount, original_price, currency, in_stock, price_signature_hash, reason,
             obs_seq, affiliate_feed_run_id, created_at)
FROM STDIN (FORMAT csv, NULL '\N')
