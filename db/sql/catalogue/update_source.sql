-- Write what an edit of a feed changes on its source.
-- Params: id, account_id, tracking_template, now. Grain: one row. Replay-safe: yes.
UPDATE sources
   SET affiliate_account_id = %(account_id)s, affiliate_tracking_template = %(tracking_template)s,
       updated_at = %(now)s
 WHERE id = %(id)s
