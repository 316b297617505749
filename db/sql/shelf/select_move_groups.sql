-- How many products a waiting run would put on the shelf, or take off it, by brand and by category, the most first.
-- Params: tenant_id, run_id, entering, limit. Grain: one row per brand and per category. Replay-safe: yes.
SELECT kind, name, count
  FROM (SELECT CASE WHEN grouping(p.brand) = 0 THEN 'brand' ELSE 'category' END AS kind,
               CASE WHEN grouping(p.brand) = 0 THEN p.brand ELSE p.category END AS name, count(*) AS count,
               row_number() OVER (PARTITION BY grouping(p.brand)
                                  ORDER BY count(*) DESC, min(p.id)) AS place
          FROM catalogue_runs run
          JOIN ingestion_runs life ON life.id = run.run_id
         CROSS JOIN LATERAL shelf_moves_of(run.source_id, run.obs_seq) move
          JOIN source_products p ON p.id = move.product_id
         WHERE run.run_id = %(run_id)s AND life.tenant_id = %(tenant_id)s AND (move.from_seq IS NULL) = %(entering)s
         GROUP BY GROUPING SETS ((p.brand), (p.category))) groups
 WHERE place <= %(limit)s
 ORDER BY kind, place
