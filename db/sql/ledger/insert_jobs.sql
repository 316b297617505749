-- Queue jobs; a slot that has one, or a key that has an active one, gets none.
-- Params: ids, tenant_ids, pipelines, keys, slots, triggers, parameters, requested_by, correlation_ids, now.
-- Grain: one row per slot. Replay-safe: yes.
INSERT INTO ingestion_jobs (id, tenant_id, pipeline, key, slot, trigger, parameters, requested_by, correlation_id,
                            created_at, updated_at)
SELECT new.id, new.tenant_id, new.pipeline, new.key, new.slot, new.trigger, new.parameters::jsonb, new.requested_by,
       new.correlation_id, %(now)s, %(now)s
  FROM unnest(%(ids)s::uuid[], %(tenant_ids)s::text[], %(pipelines)s::text[], %(keys)s::text[],
              %(slots)s::timestamptz[], %(triggers)s::text[], %(parameters)s::text[], %(requested_by)s::text[],
              %(correlation_ids)s::text[])
       AS new(id, tenant_id, pipeline, key, slot, trigger, parameters, requested_by, correlation_id)
    ON CONFLICT DO NOTHING
RETURNING id, tenant_id, pipeline, key, slot, trigger, correlation_id
