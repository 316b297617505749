-- Move schedules on to their next slots.
-- Params: ids, next_runs, now. Grain: one row per schedule. Replay-safe: yes.
UPDATE schedules s
   SET next_run_at = next.run_at, updated_at = %(now)s
  FROM unnest(%(ids)s::bigint[], %(next_runs)s::timestamptz[]) AS next(id, run_at)
 WHERE s.id = next.id
