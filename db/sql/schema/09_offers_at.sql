-- The offers of a moment: each product with the price that its last promotion knew.
CREATE FUNCTION offers_at(p_at timestamptz)
RETURNS TABLE (source_product_id bigint, feed_key text, retailer text, identity_type text, identity_value text,
               impact_item_id text, sku text, upc text, title text, brand text, category text,
               url text, delivered_url text, tracking_template text, image_url text,
               price numeric, original_price numeric, currency text, in_stock boolean,
               last_seen_at timestamptz, last_seen_success_at timestamptz, priced_at timestamptz,
               tenant_id text, source_id bigint)
LANGUAGE sql STABLE AS $$
SELECT p.id, s.key, r.name, p.identity_type, p.identity_value,
       p.impact_item_id, p.sku, p.upc, p.title, p.brand, p.category,
       p.url, p.delivered_url, src.affiliate_tracking_template, p.image_url,
       price.price_amount, price.original_price, price.currency, price.in_stock,
       shelf.observed_at, shelf.last_seen_success_at, price.created_at,
       src.tenant_id, src.id
  FROM shelf_at(p_at) shelf
  JOIN source_products p ON p.id = shelf.source_product_id
  JOIN sources src ON src.id = shelf.source_id
  JOIN retailers r ON r.id = src.retailer_id
  LEFT JOIN feed_settings f ON f.source_id = src.id
  LEFT JOIN schedules s ON s.id = f.schedule_id
  JOIN LATERAL (
       SELECT latest.price_amount, latest.original_price, latest.currency, latest.in_stock, latest.created_at
         FROM prices latest
        WHERE latest.source_product_id = p.id AND latest.obs_seq <= shelf.cutoff_obs
        ORDER BY latest.obs_seq DESC, latest.id DESC
        LIMIT 1) price ON true
$$;

CREATE VIEW active_offers AS SELECT * FROM offers_at(NULL);
