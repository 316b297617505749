-- One index for open spans, which also keeps them to one per product; no foreign keys on spans.
DROP INDEX shelf_spans_open;
DROP INDEX shelf_spans_one_open;
DROP INDEX shelf_spans_source;
ALTER TABLE shelf_spans DROP CONSTRAINT IF EXISTS shelf_spans_source_id_fkey;
ALTER TABLE shelf_spans DROP CONSTRAINT IF EXISTS shelf_spans_product_id_fkey;
CREATE UNIQUE INDEX shelf_spans_one_open ON shelf_spans (source_id, product_id) WHERE to_seq IS NULL;

-- Offers in a form that walks the products by id and stops at the limit.
DROP VIEW active_offers;
DROP FUNCTION offers_at(timestamptz);
DROP FUNCTION shelf_at(timestamptz);

-- The sources that a shopper may see at a moment: the newest promotion of each, and since when one must have been
-- promoted to be still in the window. p_at null means now, which for each source is never before its last stamp.
CREATE FUNCTION visible_sources_at(p_at timestamptz)
RETURNS TABLE (source_id bigint, newest_seq integer, since timestamptz,
               tenant_id text, retailer_id bigint, tracking_template text, account_id text)
LANGUAGE sql STABLE AS $$
SELECT src.id, newest.seq, clock.at - setting.expiry_hours * interval '1 hour',
       src.tenant_id, src.retailer_id, src.affiliate_tracking_template, src.affiliate_account_id
  FROM sources src
  CROSS JOIN LATERAL (SELECT coalesce(p_at, greatest(now(), src.last_stamp_at)) AS at) clock
  JOIN LATERAL (
       SELECT log.expiry_hours, log.is_display_primary, log.is_removed
         FROM setting_log log
        WHERE log.source_id = src.id AND log.at <= clock.at
        ORDER BY log.n DESC
        LIMIT 1) setting ON NOT setting.is_removed
  JOIN LATERAL (
       SELECT last.seq, last.promoted_at
         FROM promotions last
        WHERE last.source_id = src.id AND last.promoted_at <= clock.at
        ORDER BY last.seq DESC
        LIMIT 1) newest ON newest.promoted_at >= clock.at - setting.expiry_hours * interval '1 hour'
 WHERE CASE src.source_kind
       WHEN 'AFFILIATE_FEED' THEN setting.is_display_primary  -- fail closed
       WHEN 'DIRECT' THEN setting.is_display_primary OR NOT EXISTS (
            SELECT FROM sources other
              JOIN LATERAL (
                   SELECT log.is_display_primary, log.is_removed
                     FROM setting_log log
                    WHERE log.source_id = other.id AND log.at <= coalesce(p_at, greatest(now(), other.last_stamp_at))
                    ORDER BY log.n DESC
                    LIMIT 1) theirs ON theirs.is_display_primary AND NOT theirs.is_removed
             WHERE other.retailer_id = src.retailer_id)
       ELSE false END
$$;

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

-- What an observation would move: products that enter the shelf (from_seq null) and those that leave it (the promotion
-- that their open span began with). The products of one observation are distinct, so nothing is sorted or counted.
CREATE FUNCTION shelf_moves_of(p_source_id bigint, p_obs_seq bigint)
RETURNS TABLE (product_id bigint, from_seq integer)
LANGUAGE sql STABLE AS $$
SELECT coalesce(seen.product_id, span.product_id), span.from_seq
  FROM (SELECT unnest(product_ids) AS product_id
          FROM sightings
         WHERE source_id = p_source_id AND obs_seq = p_obs_seq) seen
  FULL JOIN (SELECT product_id, from_seq
               FROM shelf_spans
              WHERE source_id = p_source_id AND to_seq IS NULL) span ON span.product_id = seen.product_id
 WHERE seen.product_id IS NULL OR span.product_id IS NULL
$$;
