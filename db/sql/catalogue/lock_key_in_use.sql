-- Keep the key of stored secrets from being replaced while one of them is written. Lock ids of feeds count up from one.
-- Params: none. Grain: none. Replay-safe: yes.
SELECT pg_advisory_xact_lock_shared(-2)
