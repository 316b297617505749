-- A run that found nothing new says why.
-- Params: run_id, skipped_reason. Grain: one row. Replay-safe: yes.
UPDATE catalogue_runs SET skipped_reason = %(skipped_reason)s WHERE run_id = %(run_id)s
