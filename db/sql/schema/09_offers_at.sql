-- How a product shows whose source has a newest promotion and a window: the price and the times of its last promotion,
-- or nothing. Looked up for one product, so that a page is found by walking the products, and the walk stops at its end.
CREATE FUNCTION shown_as(p_product_id bigint, p_source_id bigint, p_newest_seq integer, p_since timestamptz)
RETURNS TABLE (price numeric, original_price numeric, currency text, in_stock boolean,
               last_seen_at timestamptz, last_seen_success_at timestamptz, priced_at timestamptz)
LANGUAGE sql STABLE AS $$
SELECT price.price_amount, price.original_price, price.currency, price.in_stock,
       k.observed_at, k.promoted_at, price.created_at
  FROM (SELECT least(coalesce(span.to_seq, p_newest_seq), p_newest_seq) AS seq
          FROM shelf_spans span
         WHERE span.product_id = p_product_id AND span.from_seq <= p_newest_seq
         ORDER BY span.from_seq DESC
         LIMIT 1) last
  CROSS JOIN LATERAL (
       SELECT promotion.promoted_at, promotion.observed_at, promotion.cutoff_obs
         FROM promotions promotion
        WHERE promotion.source_id = p_source_id AND promotion.seq = last.seq AND promotion.promoted_at >= p_since
        LIMIT 1) k
  CROSS JOIN LATERAL (
       SELECT latest.price_amount, latest.original_price, latest.currency, latest.in_stock, latest.created_at
         FROM prices latest
        WHERE latest.source_product_id = p_product_id AND latest.obs_seq <= k.cutoff_obs
        ORDER BY latest.obs_seq DESC, latest.id DESC
        LIMIT 1) price
$$;

-- The offers of a moment, of every source that a shopper may see then.
CREATE FUNCTION offers_at(p_at timestamptz)
RETURNS TABLE (source_product_id bigint, feed_key text, retailer text, identity_type text, identity_value text,
               impact_item_id text, sku text, upc text, title text, brand text, category text,
               url text, delivered_url text, tracking_template text, account_id text, image_url text,
               price numeric, original_price numeric, currency text, in_stock boolean,
               last_seen_at timestamptz, last_seen_success_at timestamptz, priced_at timestamptz,
               tenant_id text, source_id bigint)
LANGUAGE sql STABLE AS $$
SELECT p.id, s.key, r.name, p.identity_type, p.identity_value,
       p.impact_item_id, p.sku, p.upc, p.title, p.brand, p.category,
       p.url, p.delivered_url, visible.tracking_template, visible.account_id, p.image_url,
       shown.price, shown.original_price, shown.currency, shown.in_stock,
       shown.last_seen_at, shown.last_seen_success_at, shown.priced_at,
       visible.tenant_id, p.source_id
  FROM source_products p
  JOIN visible_sources_at(p_at) visible ON visible.source_id = p.source_id
  JOIN retailers r ON r.id = visible.retailer_id
  LEFT JOIN feed_settings f ON f.source_id = p.source_id
  LEFT JOIN schedules s ON s.id = f.schedule_id
 CROSS JOIN LATERAL shown_as(p.id, p.source_id, visible.newest_seq, visible.since) shown
$$;

CREATE VIEW active_offers AS SELECT * FROM offers_at(NULL);
