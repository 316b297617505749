-- Seed 001's view of the ledger: one row per claimed slot that was started.
CREATE VIEW job_runs AS
SELECT j.id, j.key AS job_name, j.slot AS scheduled_for, j.started_at, j.finished_at,
       CASE WHEN j.status IN ('running', 'success', 'skipped_timeout') THEN j.status ELSE 'failed' END AS status,
       j.worker_instance, j.error_message, j.tenant_id, j.pipeline
  FROM ingestion_jobs j
 WHERE j.started_at IS NOT NULL;
