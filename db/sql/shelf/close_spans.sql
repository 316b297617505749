-- Products that the observation lacks leave the shelf; their last promotion was the one before.
-- Params: last_seq. Grain: one row per product. Replay-safe: yes.
UPDATE shelf_spans span
   SET to_seq = %(last_seq)s
  FROM shelf_moves move
 WHERE span.product_id = move.product_id AND span.from_seq = move.from_seq
