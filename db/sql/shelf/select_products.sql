-- The products of a tenant by id, with what is applied of them.
-- Params: tenant_id, product_ids. Grain: one row per product. Replay-safe: yes.
SELECT p.id, p.identity_type, p.identity_value, p.title, p.url, p.delivered_url, p.image_url, p.impact_item_id, p.sku,
       p.upc, p.brand, p.category, p.description
  FROM source_products p
  JOIN sources s ON s.id = p.source_id
 WHERE s.tenant_id = %(tenant_id)s AND p.id = ANY (%(product_ids)s)
