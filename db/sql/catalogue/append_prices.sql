-- Append the prices of a batch.
-- Params: run_id, obs_seq, observed_at. Grain: one row per (product, run, signature). Replay-safe: yes.
INSERT INTO prices (source_product_id, obs_seq, price_amount, original_price, currency, in_stock, reason,
                    affiliate_feed_run_id, price_signature_hash, created_at)
SELECT product_id, %(obs_seq)s, price, original_price, currency, in_stock, price_reason,
       %(run_id)s, signature, %(observed_at)s
  FROM staged_prices
 ORDER BY product_id
    ON CONFLICT (source_product_id, affiliate_feed_run_id, price_signature_hash)
 WHERE affiliate_feed_run_id IS NOT NULL DO NOTHING
