-- What the database has of everything that a schema can declare, by name; a trigger that is switched off is not there.
-- Params: none. Grain: one row per relation, column, constraint, unique index, trigger and function. Replay-safe: yes.
WITH visible AS (
    SELECT oid, relname::text, relkind FROM pg_class
     WHERE relkind IN ('r', 'p', 'v', 'S') AND pg_table_is_visible(oid)
       AND relnamespace <> 'pg_catalog'::regnamespace
)
SELECT 'relation' AS kind, '' AS relation, relname AS name FROM visible
UNION ALL
SELECT 'column', relname, attname::text FROM visible JOIN pg_attribute ON attrelid = visible.oid
 WHERE attnum > 0 AND NOT attisdropped
UNION ALL
SELECT 'constraint', relname, conname::text FROM visible JOIN pg_constraint ON conrelid = visible.oid
UNION ALL
SELECT 'index', visible.relname, own.relname::text
  FROM visible
  JOIN pg_index ON indrelid = visible.oid AND indisunique AND indisvalid
  JOIN pg_class AS own ON own.oid = indexrelid
UNION ALL
SELECT 'trigger', relname, tgname::text FROM visible JOIN pg_trigger ON tgrelid = visible.oid
 WHERE NOT tgisinternal AND tgenabled IN ('O', 'A')
UNION ALL
SELECT 'function', '', proname::text FROM pg_proc
 WHERE pg_function_is_visible(oid) AND pronamespace <> 'pg_catalog'::regnamespace
