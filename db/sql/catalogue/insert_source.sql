-- A new affiliate source of a retailer.
-- Params: tenant_id, retailer_id, name, account_id, tracking_template, now. Grain: one row. Replay-safe: no.
INSERT INTO sources (tenant_id, retailer_id, name, source_kind, affiliate_network, affiliate_account_id,
                     affiliate_tracking_template, last_stamp_at, created_at, updated_at)
VALUES (%(tenant_id)s, %(retailer_id)s, %(name)s, 'AFFILIATE_FEED', 'IMPACT', %(account_id)s,
        %(tracking_template)s, %(now)s, %(now)s, %(now)s)
RETURNING id
