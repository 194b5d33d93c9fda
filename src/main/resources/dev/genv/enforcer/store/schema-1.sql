-- Times are milliseconds since 1970 (UTC), durations are milliseconds. An empty user stands for all who are not known.

CREATE TABLE meta (
    key TEXT PRIMARY KEY,
    value TEXT NOT NULL
) WITHOUT ROWID;

-- What the service continues with after a restart: claims and clocks, pending terminations, deliveries.
CREATE TABLE history (
    host TEXT NOT NULL,
    kind TEXT NOT NULL,
    key TEXT NOT NULL,
    value TEXT NOT NULL,
    PRIMARY KEY (host, kind, key)
);

-- Attempted actions. The outcome is 'perhaps' from before the action until its result is written.
CREATE TABLE action (
    id INTEGER PRIMARY KEY,
    at INTEGER NOT NULL,
    host TEXT NOT NULL,
    type TEXT NOT NULL,
    outcome TEXT NOT NULL,
    detail TEXT,
    user TEXT NOT NULL,
    uid INTEGER,
    environment TEXT,
    devices TEXT NOT NULL,
    pid INTEGER,
    start_time INTEGER,
    command TEXT,
    signal TEXT,
    rules TEXT NOT NULL,
    planned TEXT,
    bytes INTEGER NOT NULL
);

CREATE INDEX action_at ON action (at, outcome, signal, user);

CREATE TABLE violation (
    id TEXT PRIMARY KEY,
    number INTEGER NOT NULL,
    rule TEXT NOT NULL,
    mode TEXT NOT NULL,
    host TEXT NOT NULL,
    user TEXT NOT NULL,
    environment TEXT,
    message TEXT NOT NULL,
    first_seen INTEGER NOT NULL,
    last_seen INTEGER NOT NULL,
    resolved INTEGER,
    cycle INTEGER NOT NULL,
    entry TEXT NOT NULL,
    bytes INTEGER NOT NULL
);

CREATE INDEX violation_first_seen ON violation (first_seen, rule, user);

CREATE INDEX violation_resolved ON violation (resolved, number);

CREATE TABLE event (
    sequence INTEGER PRIMARY KEY,
    at INTEGER NOT NULL,
    type TEXT NOT NULL,
    host TEXT NOT NULL,
    content TEXT NOT NULL,
    bytes INTEGER NOT NULL
);

-- Pictures of hosts, as deflated JSON. A row without a base is complete; the data of another one needs that of its base. No data: the host
-- left the list. A single byte: its picture is too large. The mark is the clock that counts towards an action.
CREATE TABLE observation (
    id INTEGER PRIMARY KEY,
    at INTEGER NOT NULL,
    mark INTEGER NOT NULL,
    host TEXT NOT NULL,
    base INTEGER,
    data BLOB,
    bytes INTEGER NOT NULL
);

CREATE INDEX observation_host ON observation (host, base, id);

CREATE INDEX observation_at ON observation (at);

CREATE INDEX observation_host_at ON observation (host, at);

-- For how long users held and used devices of a host in the hour that begins then: two devices for an hour are two device hours. Idle are
-- held devices on which no process ran.
CREATE TABLE usage (
    hour INTEGER NOT NULL,
    host TEXT NOT NULL,
    user TEXT NOT NULL,
    held INTEGER NOT NULL,
    used INTEGER NOT NULL,
    idle INTEGER NOT NULL,
    PRIMARY KEY (hour, host, user)
) WITHOUT ROWID;

-- For how long a host was observed in an hour.
CREATE TABLE observed (
    hour INTEGER NOT NULL,
    host TEXT NOT NULL,
    time INTEGER NOT NULL,
    PRIMARY KEY (hour, host)
) WITHOUT ROWID;

-- The sum of the bytes of each kind and host, for the limits of size.
CREATE TABLE size (
    kind TEXT NOT NULL,
    host TEXT NOT NULL,
    bytes INTEGER NOT NULL,
    PRIMARY KEY (kind, host)
) WITHOUT ROWID;

CREATE TRIGGER action_added AFTER INSERT ON action BEGIN
    INSERT INTO size VALUES ('action', NEW.host, NEW.bytes) ON CONFLICT DO UPDATE SET bytes = bytes + NEW.bytes;
END;

CREATE TRIGGER action_changed AFTER UPDATE OF bytes ON action BEGIN
    UPDATE size SET bytes = bytes + NEW.bytes - OLD.bytes WHERE kind = 'action' AND host = NEW.host;
END;

CREATE TRIGGER action_removed AFTER DELETE ON action BEGIN
    UPDATE size SET bytes = bytes - OLD.bytes WHERE kind = 'action' AND host = OLD.host;
END;

CREATE TRIGGER violation_added AFTER INSERT ON violation BEGIN
    INSERT INTO size VALUES ('violation', NEW.host, NEW.bytes) ON CONFLICT DO UPDATE SET bytes = bytes + NEW.bytes;
END;

CREATE TRIGGER violation_changed AFTER UPDATE OF bytes ON violation BEGIN
    UPDATE size SET bytes = bytes + NEW.bytes - OLD.bytes WHERE kind = 'violation' AND host = NEW.host;
END;

CREATE TRIGGER violation_removed AFTER DELETE ON violation BEGIN
    UPDATE size SET bytes = bytes - OLD.bytes WHERE kind = 'violation' AND host = OLD.host;
END;

CREATE TRIGGER event_added AFTER INSERT ON event BEGIN
    INSERT INTO size VALUES ('event', NEW.host, NEW.bytes) ON CONFLICT DO UPDATE SET bytes = bytes + NEW.bytes;
END;

CREATE TRIGGER event_removed AFTER DELETE ON event BEGIN
    UPDATE size SET bytes = bytes - OLD.bytes WHERE kind = 'event' AND host = OLD.host;
END;

CREATE TRIGGER observation_added AFTER INSERT ON observation BEGIN
    INSERT INTO size VALUES ('observation', NEW.host, NEW.bytes) ON CONFLICT DO UPDATE SET bytes = bytes + NEW.bytes;
END;

CREATE TRIGGER observation_removed AFTER DELETE ON observation BEGIN
    UPDATE size SET bytes = bytes - OLD.bytes WHERE kind = 'observation' AND host = OLD.host;
END;
