-- Keys that say running, in a job or a record, though nobody holds their lock.
-- Params: none. Grain: one row per key. Replay-safe: yes.
SELECT s.tenant_id, s.pipeline, s.key, s.lock_id
  FROM schedules s
 WHERE (EXISTS (SELECT FROM ingestion_jobs j
                 WHERE j.tenant_id = s.tenant_id AND j.pipeline = s.pipeline AND j.key = s.key AND j.status = 'running')
        OR EXISTS (SELECT FROM ingestion_runs r
                    WHERE r.tenant_id = s.tenant_id AND r.pipeline = s.pipeline AND r.key = s.key
                      AND r.status = 'running' AND r.pipeline <> 'documents'))
   AND NOT EXISTS (
       SELECT FROM pg_locks l
        WHERE l.locktype = 'advisory' AND l.granted AND l.objsubid = 1
          AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())
          AND (l.classid::bigint << 32) | l.objid::bigint = s.lock_id)
