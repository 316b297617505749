-- Fold, first half: products of older sightings that are not in the set keep the time they were last seen.
-- Params: source_id, obs_seq. Grain: one row per product. Replay-safe: yes.
UPDATE source_products p
   SET seen_outside_at = greatest(p.seen_outside_at, older.seen_at)
  FROM (SELECT product_id, max(seen_at) AS seen_at
          FROM sightings, unnest(product_ids) AS product_id
         WHERE source_id = %(source_id)s AND obs_seq < %(obs_seq)s
         GROUP BY product_id) older
 WHERE p.id = older.product_id
   AND older.product_id NOT IN (
       SELECT unnest(product_ids) FROM sightings WHERE source_id = %(source_id)s AND obs_seq = %(obs_seq)s)
