-- A run that found nothing new says why, and which promotion it repeated, if any.
-- Params: run_id, skipped_reason, seq. Grain: one row. Replay-safe: yes.
UPDATE catalogue_runs SET skipped_reason = %(skipped_reason)s, promotion_seq = %(seq)s WHERE run_id = %(run_id)s
