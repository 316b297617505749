-- Say how far a run is.
-- Params: id, stage, now. Grain: one row. Replay-safe: yes.
UPDATE ingestion_runs SET active_stage = %(stage)s, updated_at = %(now)s WHERE id = %(id)s AND status = 'running'
