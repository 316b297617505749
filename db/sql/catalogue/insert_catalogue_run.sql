-- The catalogue's part of a run's record.
-- Params: run_id, feed_id, source_id, config_version, plan_digest, replayed_from_run_id. Grain: one row. Replay-safe: no.
INSERT INTO catalogue_runs (run_id, feed_id, source_id, config_version, plan_digest, replayed_from_run_id)
VALUES (%(run_id)s, %(feed_id)s, %(source_id)s, %(config_version)s, %(plan_digest)s, %(replayed_from_run_id)s)
