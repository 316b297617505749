-- The shelf as it is, and what the moves would do to it; beside it the figures of the run that gates look at.
-- Params: source_id, run_id. Grain: one row. Replay-safe: yes.
SELECT (SELECT count(*) FROM shelf_spans WHERE source_id = %(source_id)s AND to_seq IS NULL) AS on_shelf,
       (SELECT count(*) FROM shelf_moves WHERE from_seq IS NOT NULL) AS leaving,
       (SELECT count(*) FROM shelf_moves WHERE from_seq IS NULL) AS entering,
       (SELECT count(*)
          FROM shelf_moves move
         WHERE move.from_seq IS NULL
           AND EXISTS (SELECT FROM shelf_spans span WHERE span.product_id = move.product_id)) AS returned,
       run.products_upserted, run.url_hash_fallback_count
  FROM catalogue_runs run
 WHERE run.run_id = %(run_id)s
