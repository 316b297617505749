-- The figures of phase two on the run's record, and what came of it: a promotion, or reasons to wait for a person.
-- Params: run_id, on_shelf, seen, would_expire, returned, seq (null: not promoted), reason, reasons. Grain: one row. Replay-safe: yes.
UPDATE catalogue_runs
   SET active_count_before = %(on_shelf)s, seen_success_count = %(seen)s, would_expire_count = %(would_expire)s,
       products_vanished = %(leaving)s, products_returned = %(returned)s,
       products_expired = CASE WHEN %(seq)s::integer IS NULL THEN 0 ELSE %(would_expire)s END,
       promotion_seq = %(seq)s, expiry_blocked = %(reason)s::text IS NOT NULL,
       expiry_blocked_reason = %(reason)s, blocked_reasons = %(reasons)s
 WHERE run_id = %(run_id)s
