-- Ids for new products.
-- Params: count. Grain: one row per id. Replay-safe: no, ids are given once.
SELECT nextval(pg_get_serial_sequence('source_products', 'id')) AS id FROM generate_series(1, %(count)s)
