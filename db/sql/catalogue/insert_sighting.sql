-- Which products a batch saw.
-- Params: source_id, obs_seq, batch_no, run_id, observed_at, product_ids. Grain: one row per batch. Replay-safe: no.
INSERT INTO sightings (source_id, obs_seq, batch_no, run_id, seen_at, product_ids)
VALUES (%(source_id)s, %(obs_seq)s, %(batch_no)s, %(run_id)s, %(observed_at)s, %(product_ids)s::bigint[])
