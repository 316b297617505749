-- What enters and leaves the shelf by an observation, for the statements of one transaction.
-- Params: source_id, obs_seq. Grain: one row per product that moves. Replay-safe: no, once per transaction.
CREATE TEMPORARY TABLE shelf_moves ON COMMIT DROP AS
SELECT product_id, from_seq FROM shelf_moves_of(%(source_id)s, %(obs_seq)s)
