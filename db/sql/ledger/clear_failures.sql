-- An operator took note of the failures of a key: they count no more.
-- Params: id. Grain: one row. Replay-safe: yes.
UPDATE schedules SET consecutive_failures = 0 WHERE id = %(id)s
