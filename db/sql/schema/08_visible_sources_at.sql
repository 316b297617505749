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
