-- Products of the set that are not on the shelf enter it.
-- Params: source_id, seq. Grain: one row per product. Replay-safe: yes.
INSERT INTO shelf_spans (source_id, product_id, from_seq)
SELECT %(source_id)s, seen.product_id, %(seq)s
  FROM seen_set seen
 WHERE NOT EXISTS (
       SELECT FROM shelf_spans span WHERE span.product_id = seen.product_id AND span.to_seq IS NULL)
 ORDER BY seen.product_id
