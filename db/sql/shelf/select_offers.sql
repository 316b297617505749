-- The offers of visible sources, by id: a page of each source, then the first of them all. The sources come as values,
-- which leaves a statement that is planned in a tenth of the time and always walks along the products.
-- Params: source_ids, newest_seqs, sinces, after, limit (null: all). Grain: one row per offer. Replay-safe: yes.
SELECT page.*
  FROM unnest(%(source_ids)s::bigint[], %(newest_seqs)s::integer[], %(sinces)s::timestamptz[])
       AS visible (source_id, newest_seq, since)
 CROSS JOIN LATERAL (
       SELECT *
         FROM offers_of(visible.source_id, visible.newest_seq, visible.since) offer
        WHERE offer.source_product_id > %(after)s
        ORDER BY offer.source_product_id
        LIMIT %(limit)s) page
 ORDER BY page.source_product_id
 LIMIT %(limit)s
