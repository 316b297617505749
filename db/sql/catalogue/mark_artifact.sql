-- Where the file of a run is kept.
-- Params: run_id, artifact_url. Grain: one row. Replay-safe: yes.
UPDATE catalogue_runs SET artifact_url = %(artifact_url)s WHERE run_id = %(run_id)s
