-- Say no to a new value in a column that is set once.
CREATE FUNCTION refuse_rewrite() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION '% is set once: change of % refused', TG_ARGV[0], TG_TABLE_NAME USING ERRCODE = 'restrict_violation';
END
$$;

CREATE TRIGGER source_products_identity BEFORE UPDATE OF source_id, identity_type, identity_value ON source_products
    FOR EACH ROW WHEN ((OLD.source_id, OLD.identity_type, OLD.identity_value)
                       IS DISTINCT FROM (NEW.source_id, NEW.identity_type, NEW.identity_value))
    EXECUTE FUNCTION refuse_rewrite('the identity of a product');
CREATE TRIGGER ingestion_runs_trigger BEFORE UPDATE OF trigger ON ingestion_runs
    FOR EACH ROW WHEN (OLD.trigger IS DISTINCT FROM NEW.trigger)
    EXECUTE FUNCTION refuse_rewrite('the trigger of a run');
CREATE TRIGGER ingestion_jobs_trigger BEFORE UPDATE OF trigger, slot ON ingestion_jobs
    FOR EACH ROW WHEN ((OLD.trigger, OLD.slot) IS DISTINCT FROM (NEW.trigger, NEW.slot))
    EXECUTE FUNCTION refuse_rewrite('the trigger and slot of a job');
CREATE TRIGGER ingestion_items_item_key BEFORE UPDATE OF item_key ON ingestion_items
    FOR EACH ROW WHEN (OLD.item_key IS DISTINCT FROM NEW.item_key)
    EXECUTE FUNCTION refuse_rewrite('the key of an item');
