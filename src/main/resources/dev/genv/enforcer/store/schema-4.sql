-- A signal without a result becomes a termination that was perhaps begun after the last cycle.
INSERT OR IGNORE INTO history
    SELECT host, 'termination', json_object('host', host, 'id', json_object('pid', pid, 'start_time', start_time)),
        json_object('last', json(planned), 'stage', 'PERHAPS', 'at', 9223372036854775807, 'broken', 0, 'since', NULL,
            'compliant_since', NULL)
    FROM action WHERE outcome = 'perhaps' AND type = 'terminate' AND signal = 'TERM' AND json_valid(planned) ORDER BY id;

DELETE FROM action WHERE outcome = 'perhaps' AND type = 'terminate' AND signal = 'TERM' AND json_valid(planned);

-- SIGKILL and a detachment are repeated.
UPDATE action SET outcome = 'failed', detail = 'the service was stopped before it knew the result; it may have been executed'
    WHERE outcome = 'perhaps';

ALTER TABLE action DROP COLUMN planned;

UPDATE history SET value = json_set(value, '$.at', value ->> '$.stage_at', '$.stage', CASE value ->> '$.stage'
        WHEN 'PERHAPS_ASKED' THEN 'PERHAPS' WHEN 'OVERDUE' THEN 'ASKED' ELSE value ->> '$.stage' END)
    WHERE kind = 'termination' AND json_valid(value) AND value ->> '$.stage_at' IS NOT NULL;
