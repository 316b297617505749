-- Let this transaction's commit not wait for the disk. For batches, which nobody sees: the promotion waits, and all
-- that was committed before it is on disk then.
-- Params: none. Grain: one transaction. Replay-safe: yes.
SET LOCAL synchronous_commit = off
