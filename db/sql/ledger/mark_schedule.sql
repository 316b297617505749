-- Move a schedule to a status, an interval and a next slot.
-- Params: id, status, interval_seconds, next_run_at, now. Grain: one row. Replay-safe: yes.
UPDATE schedules
   SET status = %(status)s, interval_seconds = %(interval_seconds)s, next_run_at = %(next_run_at)s,
       updated_at = %(now)s
 WHERE id = %(id)s
