-- Whether the sightings of a run are still there: no later set has folded them, no promotion has used them up.
-- Params: tenant_id, run_id. Grain: one row or none. Replay-safe: yes.
SELECT run.run_id
  FROM catalogue_runs run
  JOIN ingestion_runs life ON life.id = run.run_id
 WHERE run.run_id = %(run_id)s AND life.tenant_id = %(tenant_id)s
   AND EXISTS (SELECT FROM sightings s WHERE s.source_id = run.source_id AND s.obs_seq = run.obs_seq)
