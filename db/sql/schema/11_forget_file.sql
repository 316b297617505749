-- A run that failed makes the next one read whatever is there, whoever closed it: itself, the next run or the reaper.
CREATE FUNCTION forget_file() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    UPDATE feed_settings f
       SET last_remote_mtime = NULL, last_remote_size = NULL, last_content_hash = NULL
      FROM catalogue_runs c
     WHERE c.run_id = NEW.id AND f.id = c.feed_id;
    RETURN NULL;
END
$$;

CREATE TRIGGER ingestion_runs_forget_file AFTER UPDATE OF status ON ingestion_runs
    FOR EACH ROW WHEN (NEW.pipeline = 'catalogue' AND NEW.status IN ('failed', 'canceled'))
    EXECUTE FUNCTION forget_file();
