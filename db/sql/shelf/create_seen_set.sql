-- The products that an observation saw, for the statements of one transaction.
-- Params: source_id, obs_seq. Grain: one row per product. Replay-safe: no, once per transaction.
CREATE TEMPORARY TABLE seen_set ON COMMIT DROP AS
SELECT DISTINCT product_id
  FROM sightings, unnest(product_ids) AS product_id
 WHERE source_id = %(source_id)s AND obs_seq = %(obs_seq)s
