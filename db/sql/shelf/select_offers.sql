-- The offers of visible sources, by id: a page of each source, then the first of them all. The sources come as values,
-- which leaves a statement that is planned in a tenth of the time. The comparison of pairs, and the order by both, leave
-- it one way: along the products of the source, whatever lies between them.
-- Params: source_ids, newest_seqs, sinces, after, limit (null: all). Grain: one row per offer. Replay-safe: yes.
SELECT page.*
  FROM unnest(%(source_ids)s::bigint[], %(newest_seqs)s::integer[], %(sinces)s::timestamptz[])
       AS visible (source_id, newest_seq, since)
 CROSS JOIN LATERAL (
       SELECT p.source_id, p.id AS source_product_id, p.identity_type, p.identity_value,
              p.impact_item_id, p.sku, p.upc, p.title, p.brand, p.category,
              p.url, p.delivered_url, p.image_url, shown.*
         FROM source_products p
        CROSS JOIN LATERAL shown_as(p.id, p.source_id, visible.newest_seq, visible.since) shown
        WHERE (p.source_id, p.id) > (visible.source_id, %(after)s) AND p.source_id <= visible.source_id
        ORDER BY p.source_id, p.id
        LIMIT %(limit)s) page
 ORDER BY page.source_product_id
 LIMIT %(limit)s
