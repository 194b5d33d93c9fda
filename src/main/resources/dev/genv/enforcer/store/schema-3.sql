-- Whose share of the past a row is: the account of its process, or else its uid. Empty without a process, and if its uid may be anybody's.
ALTER TABLE action ADD COLUMN owner TEXT NOT NULL DEFAULT '';

ALTER TABLE violation ADD COLUMN owner TEXT NOT NULL DEFAULT '';

ALTER TABLE event ADD COLUMN owner TEXT NOT NULL DEFAULT '';

-- A user may have recorded a name that looks like the owner of a uid.
UPDATE action SET owner = user WHERE pid IS NOT NULL AND user NOT GLOB 'uid:*';

UPDATE violation SET owner = COALESCE(json_extract(entry, '$.violation.processes[0].user.name'), '')
    WHERE json_extract(entry, '$.violation.processes[0].user.by') = 'ACCOUNT';

UPDATE event SET owner = COALESCE(json_extract(content, '$.violation.violation.processes[0].user.name'), '')
    WHERE json_extract(content, '$.violation.violation.processes[0].user.by') = 'ACCOUNT';

DROP TRIGGER action_added;

DROP TRIGGER action_changed;

DROP TRIGGER action_removed;

DROP TRIGGER violation_added;

DROP TRIGGER violation_changed;

DROP TRIGGER violation_removed;

DROP TRIGGER event_added;

DROP TRIGGER event_removed;

DROP TRIGGER observation_added;

DROP TRIGGER observation_removed;

DROP TABLE size;

-- The sum of the bytes of each kind, host and owner, for the limits of size.
CREATE TABLE size (
    kind TEXT NOT NULL,
    host TEXT NOT NULL,
    owner TEXT NOT NULL,
    bytes INTEGER NOT NULL,
    PRIMARY KEY (kind, host, owner)
) WITHOUT ROWID;

INSERT INTO size SELECT 'action', host, owner, SUM(bytes) FROM action GROUP BY host, owner;

INSERT INTO size SELECT 'violation', host, owner, SUM(bytes) FROM violation GROUP BY host, owner;

INSERT INTO size SELECT 'event', host, owner, SUM(bytes) FROM event GROUP BY host, owner;

INSERT INTO size SELECT 'observation', host, '', SUM(bytes) FROM observation GROUP BY host;

CREATE TRIGGER action_added AFTER INSERT ON action BEGIN
    INSERT INTO size VALUES ('action', NEW.host, NEW.owner, NEW.bytes) ON CONFLICT DO UPDATE SET bytes = bytes + NEW.bytes;
END;

CREATE TRIGGER action_changed AFTER UPDATE OF bytes, owner ON action BEGIN
    UPDATE size SET bytes = bytes - OLD.bytes WHERE kind = 'action' AND host = OLD.host AND owner = OLD.owner;
    INSERT INTO size VALUES ('action', NEW.host, NEW.owner, NEW.bytes) ON CONFLICT DO UPDATE SET bytes = bytes + NEW.bytes;
END;

CREATE TRIGGER action_removed AFTER DELETE ON action BEGIN
    UPDATE size SET bytes = bytes - OLD.bytes WHERE kind = 'action' AND host = OLD.host AND owner = OLD.owner;
END;

CREATE TRIGGER violation_added AFTER INSERT ON violation BEGIN
    INSERT INTO size VALUES ('violation', NEW.host, NEW.owner, NEW.bytes) ON CONFLICT DO UPDATE SET bytes = bytes + NEW.bytes;
END;

CREATE TRIGGER violation_changed AFTER UPDATE OF bytes, owner ON violation BEGIN
    UPDATE size SET bytes = bytes - OLD.bytes WHERE kind = 'violation' AND host = OLD.host AND owner = OLD.owner;
    INSERT INTO size VALUES ('violation', NEW.host, NEW.owner, NEW.bytes) ON CONFLICT DO UPDATE SET bytes = bytes + NEW.bytes;
END;

CREATE TRIGGER violation_removed AFTER DELETE ON violation BEGIN
    UPDATE size SET bytes = bytes - OLD.bytes WHERE kind = 'violation' AND host = OLD.host AND owner = OLD.owner;
END;

CREATE TRIGGER event_added AFTER INSERT ON event BEGIN
    INSERT INTO size VALUES ('event', NEW.host, NEW.owner, NEW.bytes) ON CONFLICT DO UPDATE SET bytes = bytes + NEW.bytes;
END;

CREATE TRIGGER event_removed AFTER DELETE ON event BEGIN
    UPDATE size SET bytes = bytes - OLD.bytes WHERE kind = 'event' AND host = OLD.host AND owner = OLD.owner;
END;

CREATE TRIGGER observation_added AFTER INSERT ON observation BEGIN
    INSERT INTO size VALUES ('observation', NEW.host, '', NEW.bytes) ON CONFLICT DO UPDATE SET bytes = bytes + NEW.bytes;
END;

CREATE TRIGGER observation_removed AFTER DELETE ON observation BEGIN
    UPDATE size SET bytes = bytes - OLD.bytes WHERE kind = 'observation' AND host = OLD.host AND owner = '';
END;
