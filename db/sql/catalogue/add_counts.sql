-- Add what a batch did to the run's figures, in the batch's transaction: they are the run's, not an attempt's.
-- Params: run_id, created, prices. Grain: one row. Replay-safe: no.
UPDATE catalogue_runs
   SET products_created = coalesce(products_created, 0) + %(created)s,
       prices_written = coalesce(prices_written, 0) + %(prices)s
 WHERE run_id = %(run_id)s
