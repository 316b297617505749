-- Keep others from choosing a primary source for the same retailer until the transaction ends.
-- Params: source_id. Grain: one row. Replay-safe: yes.
SELECT r.id
  FROM retailers r
  JOIN sources s ON s.retailer_id = r.id
 WHERE s.id = %(source_id)s
   FOR UPDATE OF r
