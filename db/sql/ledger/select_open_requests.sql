-- Requests that no run has honoured yet: later than the start of the key's last run, and than its end if it failed;
-- of enabled keys with no active job.
-- Params: pipeline, key (both null: every key). Grain: one row per key. Replay-safe: yes.
SELECT s.tenant_id, s.pipeline, s.key, s.manual_requested_at AS slot, s.manual_requested_by,
       coalesce(s.manual_requested_at <= last.finished_at, false) AS came_during_run
  FROM schedules s
  LEFT JOIN LATERAL (
       SELECT run.started_at, run.finished_at, run.status
         FROM ingestion_runs run
        WHERE run.tenant_id = s.tenant_id AND run.pipeline = s.pipeline AND run.key = s.key
          AND run.started_at IS NOT NULL
        ORDER BY run.started_at DESC
        LIMIT 1) last ON true
 WHERE s.status = 'ENABLED' AND s.manual_requested_at IS NOT NULL
   AND (%(pipeline)s::text IS NULL OR (s.pipeline = %(pipeline)s AND s.key = %(key)s))
   AND (last.started_at IS NULL
        OR (s.manual_requested_at > last.started_at
            AND (last.status = 'completed' OR s.manual_requested_at > last.finished_at)))
   AND NOT EXISTS (
       SELECT FROM ingestion_jobs j
        WHERE j.tenant_id = s.tenant_id AND j.pipeline = s.pipeline AND j.key = s.key
          AND (j.status IN ('queued', 'running') OR (j.status = 'failed' AND j.next_retry_at IS NOT NULL)
               OR j.slot = s.manual_requested_at))
