-- Where a batch waits for its statements; one per session, emptied at each commit.
-- Params: none. Grain: one row per row of the file that writes something. Replay-safe: yes.
CREATE TEMPORARY TABLE IF NOT EXISTS staged_rows (
    product_id bigint, is_changed boolean NOT NULL,
    identity_type text NOT NULL, identity_value text NOT NULL,
    title text NOT NULL, url text NOT NULL, delivered_url text, image_url text, impact_item_id text, sku text,
    normalized_url_hash text, upc text, brand text, category text, description text,
    fingerprint bigint NOT NULL, fingerprint_version smallint NOT NULL,
    price numeric NOT NULL, original_price numeric, currency text NOT NULL, in_stock boolean NOT NULL,
    signature text NOT NULL, price_reason text
) ON COMMIT DELETE ROWS
