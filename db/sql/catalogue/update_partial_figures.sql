-- How far a run came that failed: the figures of the batches that its last attempt committed.
-- Params: run_id. Grain: one row, or none if there was no such batch, or the whole file was written and has its figures.
-- Replay-safe: yes.
UPDATE catalogue_runs run
   SET rows_read = done.products, rows_parsed = done.products, products_upserted = done.products,
       products_created = done.created, products_changed = done.changed,
       products_unchanged = done.products - done.created - done.changed,
       products_rejected = 0, duplicate_key_count = 0
  FROM (SELECT count(*)::int AS products,
               (count(*) FILTER (WHERE p.created_by_run_id = %(run_id)s))::int AS created,
               (count(*) FILTER (WHERE c.product_id IS NOT NULL AND p.created_by_run_id <> %(run_id)s))::int AS changed
          FROM catalogue_runs r
          JOIN sightings s ON s.source_id = r.source_id AND s.obs_seq = r.obs_seq
         CROSS JOIN unnest(s.product_ids) AS seen(product_id)
          JOIN source_products p ON p.id = seen.product_id
          LEFT JOIN product_changes c ON c.source_id = r.source_id AND c.obs_seq = r.obs_seq
                                     AND c.product_id = p.id
         WHERE r.run_id = %(run_id)s) done
 WHERE run.run_id = %(run_id)s AND run.rows_read IS NULL AND done.products > 0
