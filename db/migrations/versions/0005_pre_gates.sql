-- How many products of a file are in stock, from which follows how many were in stock before it.
ALTER TABLE catalogue_runs
    ADD COLUMN products_in_stock INTEGER,
    ADD CONSTRAINT catalogue_runs_products_in_stock_counted CHECK (products_in_stock >= 0);
COMMENT ON COLUMN catalogue_runs.products_in_stock IS 'of products_upserted those that the file has in stock';

-- What an observation would change about products on the shelf: the price, currency and stock that the shelf shows, and
-- those of the latest change since. Rows of every run since the newest promotion count, not of this one alone: what a
-- blocked run wrote is no change any more when the next file repeats it, and would show once that file is promoted.
-- Heartbeats repeat what is known. Found by the runs, so that it costs what they wrote and not what the catalogue holds.
CREATE FUNCTION offer_changes_of(p_source_id bigint, p_obs_seq bigint)
RETURNS TABLE (product_id bigint, price_before numeric, price_after numeric, currency_before text, currency_after text,
               in_stock_before boolean, in_stock_after boolean)
LANGUAGE sql STABLE AS $$
SELECT found.product_id, shown.price_amount, found.price_amount, shown.currency, found.currency,
       shown.in_stock, found.in_stock
  FROM (SELECT promotion.cutoff_obs
          FROM promotions promotion
         WHERE promotion.source_id = p_source_id
         ORDER BY promotion.seq DESC
         LIMIT 1) newest
 CROSS JOIN LATERAL (
       SELECT DISTINCT ON (price.source_product_id)
              price.source_product_id AS product_id, price.price_amount, price.currency, price.in_stock
         FROM catalogue_runs run
         JOIN prices price ON price.affiliate_feed_run_id = run.run_id
        WHERE run.source_id = p_source_id AND run.obs_seq > newest.cutoff_obs
          AND price.obs_seq > newest.cutoff_obs AND price.obs_seq <= p_obs_seq AND price.reason = 'changed'
        ORDER BY price.source_product_id, price.obs_seq DESC, price.id DESC) found
 CROSS JOIN LATERAL (  -- with a limit it is looked up for each; as a join, before statistics, it became a nested loop
       SELECT
         FROM shelf_spans span
        WHERE span.source_id = p_source_id AND span.product_id = found.product_id AND span.to_seq IS NULL
        LIMIT 1) on_shelf
 CROSS JOIN LATERAL (
       SELECT latest.price_amount, latest.currency, latest.in_stock
         FROM prices latest
        WHERE latest.source_product_id = found.product_id AND latest.obs_seq <= newest.cutoff_obs
        ORDER BY latest.obs_seq DESC, latest.id DESC
        LIMIT 1) shown
$$;
