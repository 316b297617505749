-- A run whose file is written and whose phase two failed: nothing is promoted, a person may approve it.
-- Params: run_id. Grain: one row. Replay-safe: yes.
UPDATE catalogue_runs SET expiry_step_failed = true, products_expired = 0 WHERE run_id = %(run_id)s
