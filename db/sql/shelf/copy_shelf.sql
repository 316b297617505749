-- The shelf of a source in narrow: each product that was ever on it, whether it is, and the price that it then shows.
-- Amounts are ten-thousandths.
-- Params: source_id. Grain: one row per product. Replay-safe: yes.
COPY (
SELECT span.product_id, span.is_open::int, (shown.price_amount * 10000)::bigint,
       (shown.original_price * 10000)::bigint, shown.currency, shown.in_stock::int
  FROM (SELECT product_id, bool_or(to_seq IS NULL) AS is_open
          FROM shelf_spans
         WHERE source_id = %(source_id)s
         GROUP BY product_id) span
 CROSS JOIN (SELECT cutoff_obs FROM promotions WHERE source_id = %(source_id)s ORDER BY seq DESC LIMIT 1) newest
  LEFT JOIN LATERAL (
       SELECT latest.price_amount, latest.original_price, latest.currency, latest.in_stock
         FROM prices latest
        WHERE latest.source_product_id = span.product_id AND latest.obs_seq <= newest.cutoff_obs
        ORDER BY latest.obs_seq DESC, latest.id DESC
        LIMIT 1) shown ON span.is_open
) TO STDOUT (FORMAT csv)
