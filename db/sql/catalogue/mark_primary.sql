-- Make a source primary, or not.
-- Params: source_id, is_primary, now. Grain: one row. Replay-safe: yes.
UPDATE sources SET is_display_primary = %(is_primary)s, updated_at = %(now)s WHERE id = %(source_id)s
