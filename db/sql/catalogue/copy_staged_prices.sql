-- Bring the prices of a batch to the server.
-- Params: none. Grain: one row per price. Replay-safe: yes, within its transaction.
COPY staged_prices FROM STDIN (FORMAT csv, NULL '\N')
