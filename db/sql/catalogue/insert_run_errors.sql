-- Keep samples of rejected and duplicate rows.
-- Params: run_id, created_at, code, message, row_number, raw_row. Grain: one row per sample. Replay-safe: no.
INSERT INTO affiliate_feed_run_errors (run_id, code, message, row_number, raw_row, created_at)
VALUES (%(run_id)s, %(code)s, %(message)s, %(row_number)s, %(raw_row)s, %(created_at)s)
