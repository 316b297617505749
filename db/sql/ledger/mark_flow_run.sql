-- Remember the flow run of a submission.
-- Params: id, submission, flow_run_id. Grain: one row or none. Replay-safe: yes.
UPDATE ingestion_jobs SET flow_run_id = %(flow_run_id)s WHERE id = %(id)s AND submission = %(submission)s
