-- What a promotion of the seen set would do to the shelf.
-- Params: source_id. Grain: one row. Replay-safe: yes.
SELECT count(*) FILTER (WHERE is_open) AS on_shelf,
       count(*) FILTER (WHERE is_open AND is_seen) AS seen,
       count(*) FILTER (WHERE NOT is_open AND is_seen AND was_there) AS returned
  FROM (SELECT bool_or(span.product_id IS NOT NULL AND span.to_seq IS NULL) AS is_open,
               bool_or(seen.product_id IS NOT NULL) AS is_seen,
               bool_or(span.product_id IS NOT NULL) AS was_there
          FROM (SELECT * FROM shelf_spans WHERE source_id = %(source_id)s) span
          FULL JOIN seen_set seen ON seen.product_id = span.product_id
         GROUP BY coalesce(span.product_id, seen.product_id)) products
