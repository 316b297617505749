-- Bring the rows of a batch to the server.
-- Params: none. Grain: one row per row of the file that writes something. Replay-safe: yes, within its transaction.
COPY staged_rows FROM STDIN (FORMAT csv, NULL '\N')
