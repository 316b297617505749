-- A person rejected a run that waited.
-- Params: run_id, by, at, reason. Grain: one row, or none if it was decided. Replay-safe: yes.
UPDATE catalogue_runs
   SET expiry_rejected_at = %(at)s, expiry_rejected_by = %(by)s, expiry_rejected_reason = %(reason)s
 WHERE run_id = %(run_id)s AND expiry_approved_at IS NULL AND expiry_rejected_at IS NULL
