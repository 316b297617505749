-- The price of each product that was ever promoted: the latest that its last promotion knew.
CREATE VIEW current_prices AS
SELECT last.product_id AS source_product_id, price.id AS price_id,
       price.price_amount AS price, price.original_price, price.currency, price.promo_json, price.in_stock,
       price.created_at AS observed_at, price.affiliate_feed_run_id AS run_id, k.source_id
  FROM (SELECT DISTINCT ON (product_id) product_id, source_id, to_seq
          FROM shelf_spans
         ORDER BY product_id, from_seq DESC) last
  JOIN (SELECT source_id, max(seq) AS seq FROM promotions GROUP BY source_id) newest USING (source_id)
  JOIN promotions k ON k.source_id = last.source_id AND k.seq = coalesce(last.to_seq, newest.seq)
  JOIN LATERAL (
       SELECT latest.*
         FROM prices latest
        WHERE latest.source_product_id = last.product_id AND latest.obs_seq <= k.cutoff_obs
        ORDER BY latest.obs_seq DESC, latest.id DESC
        LIMIT 1) price ON true;
