-- How long the dispatcher has been away from work: the newest tick, and the oldest slot that is due.
-- Params: now. Grain: one row. Replay-safe: yes.
SELECT (SELECT ticked_at FROM dispatcher_ticks) AS ticked_at,
       (SELECT min(next_run_at) FROM schedules WHERE status = 'ENABLED' AND next_run_at <= %(now)s) AS oldest_slot
