-- The products of a tenant's feed that a person may mean by a value.
-- Params: tenant_id, key, identity_type (null: any), value. Grain: one row per product. Replay-safe: yes.
SELECT p.id, f.tenant_id, p.identity_type, p.identity_value, p.title
  FROM affiliate_feeds f
  JOIN source_products p ON p.source_id = f.source_id
 WHERE f.tenant_id = %(tenant_id)s AND f.feed_key = %(key)s AND p.identity_value = %(value)s
   AND (%(identity_type)s::text IS NULL OR p.identity_type = %(identity_type)s)
 ORDER BY p.id
