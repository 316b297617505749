-- Schedules with a slot due, kept from other dispatchers until the transaction ends; those that another holds are left.
-- Params: now, limit. Grain: one row per schedule. Replay-safe: yes.
SELECT s.id, s.tenant_id, s.pipeline, s.key, s.interval_seconds, s.next_run_at, s.is_coalesced, s.misfire_grace_seconds,
       EXISTS (SELECT FROM ingestion_jobs j
                WHERE j.tenant_id = s.tenant_id AND j.pipeline = s.pipeline AND j.key = s.key
                  AND (j.status IN ('queued', 'running') OR (j.status = 'failed' AND j.next_retry_at IS NOT NULL))
              ) AS is_active
  FROM schedules s
 WHERE s.status = 'ENABLED' AND s.next_run_at IS NOT NULL AND s.next_run_at <= %(now)s
 ORDER BY s.next_run_at
 LIMIT %(limit)s
   FOR UPDATE OF s SKIP LOCKED
