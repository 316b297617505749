-- What a run found, once its whole file is written.
-- Params: run_id and the figures. Grain: one row. Replay-safe: yes.
UPDATE catalogue_runs
   SET rows_read = %(rows_read)s, rows_parsed = %(rows_parsed)s, inflated_bytes = %(inflated_bytes)s,
       products_upserted = %(products_upserted)s, products_changed = %(products_changed)s,
       products_unchanged = %(products_upserted)s - products_created - %(products_changed)s,
       products_rejected = %(products_rejected)s, rejected_by_code = %(rejected_by_code)s,
       duplicate_key_count = %(duplicate_key_count)s, error_count = %(products_rejected)s,
       url_hash_fallback_count = %(url_hash_fallback_count)s, products_in_stock = %(products_in_stock)s,
       detected = %(detected)s
 WHERE run_id = %(run_id)s
