-- The other primary sources of the same retailer, kept from changing until the transaction ends.
-- Params: source_id. Grain: one row per source. Replay-safe: yes.
SELECT other.id, other.last_stamp_at
  FROM sources this
  JOIN sources other ON other.retailer_id = this.retailer_id AND other.id <> this.id
 WHERE this.id = %(source_id)s AND other.is_display_primary
 ORDER BY other.id
   FOR UPDATE OF other
