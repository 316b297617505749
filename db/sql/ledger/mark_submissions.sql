-- Take queued jobs for submission, each with a submission number of its own; another dispatcher leaves them alone.
-- Params: now, limit. Grain: one row per job. Replay-safe: no.
UPDATE ingestion_jobs j
   SET submission = j.submission + 1, submitted_at = %(now)s, flow_run_id = NULL, updated_at = %(now)s
 WHERE j.id IN (SELECT id FROM ingestion_jobs WHERE status = 'queued' AND submitted_at IS NULL ORDER BY slot
                 LIMIT %(limit)s FOR UPDATE SKIP LOCKED)
RETURNING j.id, j.tenant_id, j.pipeline, j.key, j.trigger, j.submission
