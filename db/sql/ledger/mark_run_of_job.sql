-- Remember the newest run of a job.
-- Params: id, run_id. Grain: one row. Replay-safe: yes.
UPDATE ingestion_jobs SET run_id = %(run_id)s WHERE id = %(id)s
