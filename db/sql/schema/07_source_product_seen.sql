-- The seed's staging table, derived: which run saw which product. Promoted runs from their spans, others from their
-- sightings until a later set folds them, those of the final attempt; only runs that still exist.
CREATE VIEW source_product_seen AS
SELECT seen.run_id::text || ':' || seen.source_product_id AS id,
       seen.run_id, seen.source_product_id, seen.created_at, seen.source_id
  FROM (SELECT k.run_id, span.product_id AS source_product_id, k.observed_at AS created_at, k.source_id
          FROM promotions k
          JOIN shelf_spans span ON span.source_id = k.source_id
                               AND span.from_seq <= k.seq
                               AND (span.to_seq IS NULL OR span.to_seq >= k.seq)
         UNION
        SELECT s.run_id, product_id, s.seen_at, s.source_id
          FROM sightings s
          JOIN catalogue_runs final ON final.run_id = s.run_id AND coalesce(final.obs_seq, s.obs_seq) = s.obs_seq
         CROSS JOIN unnest(s.product_ids) AS product_id) seen
  JOIN ingestion_runs r ON r.id = seen.run_id;
