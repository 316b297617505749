-- The flow run of a job came to nothing: hand it out again, unless somebody did or it has started.
-- Params: id, submission, now. Grain: one row or none. Replay-safe: yes.
UPDATE ingestion_jobs
   SET submitted_at = NULL, flow_run_id = NULL, updated_at = %(now)s
 WHERE id = %(id)s AND submission = %(submission)s AND status = 'queued'
