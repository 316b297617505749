-- Whether somebody holds the lock of a key, without taking it.
-- Params: lock_id. Grain: one row. Replay-safe: yes.
SELECT EXISTS (
       SELECT FROM pg_locks
        WHERE locktype = 'advisory' AND granted AND objsubid = 1
          AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
          AND (classid::bigint << 32) | objid::bigint = %(lock_id)s) AS held
