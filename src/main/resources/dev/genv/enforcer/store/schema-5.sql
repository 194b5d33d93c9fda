-- Observations are not kept. Their pages are used for other rows.
DROP TABLE IF EXISTS observation;

DELETE FROM size WHERE kind = 'observation';

DELETE FROM meta WHERE key = 'mark';
