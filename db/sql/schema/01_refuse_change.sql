-- Say no to any change of an append-only table, to its owner too.
CREATE FUNCTION refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION '% is append-only: % refused', TG_TABLE_NAME, TG_OP USING ERRCODE = 'restrict_violation';
END
$$;

CREATE TRIGGER prices_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON prices
    FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
CREATE TRIGGER audit_events_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON audit_events
    FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
CREATE TRIGGER promotions_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON promotions
    FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
CREATE TRIGGER setting_log_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON setting_log
    FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
-- Sources and products are kept for ever too, so that what is written in bulk can do without foreign keys to them.
CREATE TRIGGER sources_kept BEFORE DELETE OR TRUNCATE ON sources
    FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
CREATE TRIGGER source_products_kept BEFORE DELETE OR TRUNCATE ON source_products
    FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();

-- ALWAYS: session_replication_role = replica switches ordinary triggers off.
ALTER TABLE prices ENABLE ALWAYS TRIGGER prices_append_only;
ALTER TABLE audit_events ENABLE ALWAYS TRIGGER audit_events_append_only;
ALTER TABLE promotions ENABLE ALWAYS TRIGGER promotions_append_only;
ALTER TABLE sources ENABLE ALWAYS TRIGGER sources_kept;
ALTER TABLE source_products ENABLE ALWAYS TRIGGER source_products_kept;
ALTER TABLE setting_log ENABLE ALWAYS TRIGGER setting_log_append_only;
