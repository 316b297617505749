-- The price history of one product, oldest first. A price is promoted if it ever showed: if some promotion that held
-- the product knew it and no later one.
-- Params: tenant_id, source_product_id. Grain: one row per price. Replay-safe: yes.
SELECT p.id, p.price_amount AS price, p.original_price, p.currency, p.in_stock, p.created_at AS observed_at,
       p.affiliate_feed_run_id AS run_id, p.reason,
       EXISTS (
           SELECT FROM shelf_spans span
             JOIN promotions k ON k.source_id = span.source_id AND k.seq >= span.from_seq
                              AND (span.to_seq IS NULL OR k.seq <= span.to_seq)
            WHERE span.product_id = p.source_product_id AND k.cutoff_obs >= p.obs_seq
              AND (next.obs_seq IS NULL OR k.cutoff_obs < next.obs_seq)) AS promoted
  FROM (SELECT *, lead(id) OVER (ORDER BY obs_seq, id) AS next_id
          FROM prices
         WHERE source_product_id = %(source_product_id)s
           AND EXISTS (SELECT FROM source_products sp
                         JOIN sources src ON src.id = sp.source_id
                        WHERE sp.id = %(source_product_id)s AND src.tenant_id = %(tenant_id)s)) p
  LEFT JOIN prices next ON next.id = p.next_id
 ORDER BY p.obs_seq, p.id
