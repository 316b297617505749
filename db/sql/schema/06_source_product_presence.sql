-- The seed's presence, derived: when a product was last seen, and last seen by a run that was promoted.
CREATE VIEW source_product_presence AS
SELECT p.id, p.id AS source_product_id,
       greatest(k.observed_at, p.seen_outside_at, waiting.seen_at) AS last_seen_at,
       k.promoted_at AS last_seen_success_at,
       greatest(k.promoted_at, p.seen_outside_at, waiting.seen_at) AS updated_at,
       p.source_id
  FROM source_products p
  LEFT JOIN LATERAL (
       SELECT span.from_seq, span.to_seq
         FROM shelf_spans span
        WHERE span.product_id = p.id
        ORDER BY span.from_seq DESC
        LIMIT 1) last ON true
  LEFT JOIN (SELECT source_id, max(seq) AS seq FROM promotions GROUP BY source_id) newest
         ON newest.source_id = p.source_id AND last.from_seq IS NOT NULL
  LEFT JOIN promotions k ON k.source_id = p.source_id AND k.seq = coalesce(last.to_seq, newest.seq)
  LEFT JOIN (
       SELECT source_id, product_id, max(seen_at) AS seen_at
         FROM sightings, unnest(product_ids) AS product_id
        GROUP BY source_id, product_id) waiting
         ON waiting.source_id = p.source_id AND waiting.product_id = p.id;
