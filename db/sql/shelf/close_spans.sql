-- Products on the shelf that the set lacks leave it; their last promotion was the one before.
-- Params: source_id, last_seq. Grain: one row per product. Replay-safe: yes.
UPDATE shelf_spans span
   SET to_seq = %(last_seq)s
 WHERE span.source_id = %(source_id)s AND span.to_seq IS NULL
   AND NOT EXISTS (SELECT FROM seen_set WHERE seen_set.product_id = span.product_id)
