-- Keys that say running, in a job or a record, though nobody holds their lock.
-- Params: none. Grain: one row per key. Replay-safe: yes.
SELECT s.tenant_id, s.pipeline, s.key, s.lock_id
  FROM (SELECT tenant_id, pipeline, key FROM ingestion_jobs WHERE status = 'running'
         UNION
        SELECT tenant_id, pipeline, key FROM ingestion_runs WHERE status = 'running' AND pipeline <> 'documents') open
  JOIN schedules s USING (tenant_id, pipeline, key)
 WHERE NOT EXISTS (
       SELECT FROM pg_locks l
        WHERE l.locktype = 'advisory' AND l.granted AND l.objsubid = 1
          AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())
          AND (l.classid::bigint << 32) | l.objid::bigint = s.lock_id)
