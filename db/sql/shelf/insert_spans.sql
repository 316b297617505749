-- Products of the observation that are not on the shelf enter it.
-- Params: source_id, seq. Grain: one row per product. Replay-safe: no, one open span per product.
INSERT INTO shelf_spans (source_id, product_id, from_seq)
SELECT %(source_id)s, product_id, %(seq)s
  FROM shelf_moves
 WHERE from_seq IS NULL
 ORDER BY product_id
