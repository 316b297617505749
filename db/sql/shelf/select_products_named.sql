-- The products of a source that a person may mean by a value.
-- Params: source_id, identity_type (null: any), value. Grain: one row per product. Replay-safe: yes.
SELECT id, identity_type, identity_value, title
  FROM source_products
 WHERE source_id = %(source_id)s AND identity_value = %(value)s
   AND (%(identity_type)s::text IS NULL OR identity_type = %(identity_type)s)
 ORDER BY id
