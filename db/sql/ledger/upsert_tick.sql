-- The dispatcher was here.
-- Params: now, worker_instance. Grain: one row in all. Replay-safe: yes.
INSERT INTO dispatcher_ticks (id, ticked_at, worker_instance)
VALUES (1, %(now)s, %(worker_instance)s)
    ON CONFLICT (id) DO UPDATE SET ticked_at = greatest(dispatcher_ticks.ticked_at, excluded.ticked_at),
                                   worker_instance = excluded.worker_instance
