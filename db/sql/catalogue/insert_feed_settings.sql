-- The settings of a new feed.
-- Params: schedule_id, source_id, the settings, created_by, now. Grain: one row. Replay-safe: no.
INSERT INTO feed_settings (schedule_id, source_id, expiry_hours, heartbeat_hours, unchanged_policy, gates,
                           transport, host, port, path, username, host_key_fingerprint, compression,
                           max_file_size_bytes, max_row_count, max_product_count, created_by, created_at, updated_at)
VALUES (%(schedule_id)s, %(source_id)s, %(expiry_hours)s, %(heartbeat_hours)s, %(unchanged_policy)s, %(gates)s,
        %(transport)s, %(host)s, %(port)s, %(path)s, %(username)s, %(host_key_fingerprint)s, %(compression)s,
        %(max_file_size_bytes)s, %(max_row_count)s, %(max_product_count)s, %(created_by)s, %(now)s, %(now)s)
RETURNING id
