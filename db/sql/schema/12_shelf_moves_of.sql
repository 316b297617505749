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
