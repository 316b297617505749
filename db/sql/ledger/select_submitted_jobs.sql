-- Queued jobs that have been handed to Prefect: has their flow run come to nothing?
-- Params: none. Grain: one row per job. Replay-safe: yes.
SELECT id, tenant_id, pipeline, key, submission, submitted_at, flow_run_id
  FROM ingestion_jobs
 WHERE status = 'queued' AND submitted_at IS NOT NULL
