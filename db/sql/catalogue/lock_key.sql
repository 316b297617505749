-- Keep everybody from encrypting a secret while the key is replaced.
-- Params: none. Grain: none. Replay-safe: yes.
SELECT pg_advisory_xact_lock(-2)
