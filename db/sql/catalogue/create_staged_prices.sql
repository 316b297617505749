-- Where the prices of a batch wait; one per session, emptied at each commit.
-- Params: none. Grain: one row per price. Replay-safe: yes.
CREATE TEMPORARY TABLE IF NOT EXISTS staged_prices (
    product_id bigint NOT NULL, price numeric NOT NULL, original_price numeric, currency text NOT NULL,
    in_stock boolean NOT NULL, signature text NOT NULL, price_reason text NOT NULL
) ON COMMIT DELETE ROWS
