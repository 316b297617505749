-- What a shopper may see at a moment, as products and the promotion that each is shown by.
-- p_at null means now, which for each source is never before its last stamp.
CREATE FUNCTION shelf_at(p_at timestamptz)
RETURNS TABLE (source_product_id bigint, source_id bigint, promotion_seq integer,
               last_seen_success_at timestamptz, observed_at timestamptz, cutoff_obs bigint)
LANGUAGE sql STABLE AS $$
SELECT span.product_id, k.source_id, k.seq, k.promoted_at, k.observed_at, k.cutoff_obs
  FROM sources src
  CROSS JOIN LATERAL (SELECT coalesce(p_at, greatest(now(), src.last_stamp_at)) AS at) clock
  JOIN LATERAL (
       SELECT log.expiry_hours, log.is_display_primary, log.is_removed
         FROM setting_log log
        WHERE log.source_id = src.id AND log.at <= clock.at
        ORDER BY log.n DESC
        LIMIT 1) setting ON NOT setting.is_removed
  JOIN LATERAL (
       SELECT last.seq
         FROM promotions last
        WHERE last.source_id = src.id AND last.promoted_at <= clock.at
        ORDER BY last.seq DESC
        LIMIT 1) newest ON true
  JOIN shelf_spans span ON span.source_id = src.id AND span.from_seq <= newest.seq
  JOIN promotions k ON k.source_id = src.id AND k.seq = least(coalesce(span.to_seq, newest.seq), newest.seq)
 WHERE k.promoted_at >= clock.at - setting.expiry_hours * interval '1 hour'
   AND NOT EXISTS (
       SELECT FROM shelf_spans later
        WHERE later.product_id = span.product_id AND later.from_seq > span.from_seq AND later.from_seq <= newest.seq)
   AND CASE src.source_kind
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
