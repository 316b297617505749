-- The figures of phase two on the run's record.
-- Params: run_id, on_shelf, seen, would_expire, returned, seq. Grain: one row. Replay-safe: yes.
UPDATE catalogue_runs
   SET active_count_before = %(on_shelf)s, seen_success_count = %(seen)s, would_expire_count = %(would_expire)s,
       products_expired = %(would_expire)s, products_vanished = %(would_expire)s, products_returned = %(returned)s,
       promotion_seq = %(seq)s
 WHERE run_id = %(run_id)s
