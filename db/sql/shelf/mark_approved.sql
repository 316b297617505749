-- A person approved a run that waited, and it was promoted. Its figures stay as they were judged; those of a run whose
-- phase two failed are taken now.
-- Params: run_id, by, at, seq, on_shelf, seen, would_expire, leaving, returned. Grain: one row, or none if it was decided. Replay-safe: yes.
UPDATE catalogue_runs
   SET expiry_approved_at = %(at)s, expiry_approved_by = %(by)s, promotion_seq = %(seq)s,
       active_count_before = coalesce(active_count_before, %(on_shelf)s),
       seen_success_count = coalesce(seen_success_count, %(seen)s),
       would_expire_count = coalesce(would_expire_count, %(would_expire)s),
       products_vanished = coalesce(products_vanished, %(leaving)s),
       products_returned = coalesce(products_returned, %(returned)s),
       products_expired = coalesce(would_expire_count, %(would_expire)s)
 WHERE run_id = %(run_id)s AND expiry_approved_at IS NULL AND expiry_rejected_at IS NULL
