-- A failed run that had committed a batch is partial.
-- Params: run_id. Grain: one row. Replay-safe: yes.
UPDATE catalogue_runs
   SET is_partial = EXISTS (SELECT FROM sightings WHERE run_id = %(run_id)s)
 WHERE run_id = %(run_id)s
