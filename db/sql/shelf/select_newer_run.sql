-- A run of the same feed that processed a later file and succeeded. Skipped runs processed none; order is by observation.
-- Params: tenant_id, run_id. Grain: one row or none. Replay-safe: yes.
SELECT newer.run_id
  FROM catalogue_runs run
  JOIN catalogue_runs newer ON newer.feed_id = run.feed_id AND newer.obs_seq > run.obs_seq
  JOIN ingestion_runs life ON life.id = newer.run_id
 WHERE run.run_id = %(run_id)s AND life.tenant_id = %(tenant_id)s
   AND life.status = 'completed' AND newer.skipped_reason IS NULL
 ORDER BY newer.obs_seq DESC
 LIMIT 1
