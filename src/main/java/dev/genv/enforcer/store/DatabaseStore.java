package dev.genv.enforcer.store;

import dev.genv.enforcer.enforcement.Terminations;
import dev.genv.enforcer.enforcement.report.Event;
import dev.genv.enforcer.enforcement.report.EventLog;
import dev.genv.enforcer.enforcement.report.SavedState;
import dev.genv.enforcer.enforcement.report.SavedState.SavedCycle;
import dev.genv.enforcer.enforcement.report.SavedState.SavedKind;
import dev.genv.enforcer.enforcement.report.Share;
import dev.genv.enforcer.enforcement.report.Store;
import dev.genv.enforcer.enforcement.report.Store.CycleCommit;
import dev.genv.enforcer.enforcement.report.Store.Restored;
import dev.genv.enforcer.enforcement.report.ViolationRecord;
import dev.genv.enforcer.enforcement.report.ViolationRegistry.StoredViolation;
import dev.genv.enforcer.model.Accounts;
import dev.genv.enforcer.model.Problem;
import dev.genv.enforcer.model.ProblemCode;
import dev.genv.enforcer.model.SafeText;
import dev.genv.enforcer.store.StoredRows.ActionRows;
import dev.genv.enforcer.store.StoredRows.EventRows;
import dev.genv.enforcer.store.StoredRows.ViolationRows;
import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import java.util.UUID;
import java.util.concurrent.ConcurrentHashMap;
import java.util.stream.Stream;
import org.jboss.logging.Logger;
import org.jspecify.annotations.Nullable;

/**
 * Stores cycles in the database. A termination has a transaction of its own, before its signal; everything else of a cycle is in one
 * transaction.
 */
public final class DatabaseStore implements Store {
    private static final Logger LOG = Logger.getLogger(DatabaseStore.class);
    /** As many resolved violations are restored as the registry keeps. */
    private static final int MAX_RESOLVED = 10_000;
    /** Pending terminations are few, and never left out: without them a process gets a second SIGTERM. */
    private static final String TERMINATIONS = Terminations.TERMINATIONS.name();

    private static final long MAX_RESOLVED_BYTES = 16L << 20;
    private static final int EVENTS_AT_ONCE = 100;
    /** The share of the database for the history of the hosts. Users choose its size. */
    private static final int HISTORY_SHARE = 8;
    /** How long the history of a host is left out after it was too large. */
    private static final Duration LEFT_OUT = Duration.ofHours(1);

    private static final Duration LATE_USAGE = Duration.ofHours(2);

    private final Database database;
    private final String processes;
    private final List<SavedKind<?, ?>> kinds;
    private final Retention retention;
    /** Since when the history of hosts is left out. */
    private final Map<String, Instant> leftOut = new ConcurrentHashMap<>();
    /** What the database has; null if that is not known, so that the next cycle writes everything. */
    private volatile @Nullable Content written;

    private record Entry(String host, String kind, Record key) {}

    /** The content of the database at the generation of its file. */
    private record Content(int generation, Map<Entry, Record> history, Map<String, StoredViolation> violations) {
        static Content empty(int generation) {
            return new Content(generation, Map.of(), Map.of());
        }

        Content with(Map<Entry, Record> entries) {
            var all = new HashMap<>(history);
            all.putAll(entries);
            return new Content(generation, all, violations);
        }
    }

    /**
     * Creates a store.
     *
     * @param processes identifies the processes that pids and start times refer to, such as the boot of the node. If it is another one
     *     than in the earlier run, or empty, nothing that concerns processes is restored
     * @param kinds the kinds of entries of the history
     */
    public DatabaseStore(Database database, String processes, List<SavedKind<?, ?>> kinds, Retention retention) {
        this.database = database;
        this.processes = processes;
        this.kinds = List.copyOf(kinds);
        this.retention = retention;
    }

    @Override
    public UUID id() {
        return database.id();
    }

    @Override
    public List<Problem> problems() {
        var tooLarge = leftOut.keySet().stream()
                .map(host -> new Problem(
                        ProblemCode.DATA_UNWRITABLE,
                        "the history of %s is too large: after a restart its grace periods begin again"
                                .formatted(host)));
        return Stream.concat(database.problems().stream(), tooLarge.limit(1)).toList();
    }

    @Override
    public void begin(SavedState entries) {
        if (!database.isKept()) {
            return;
        }
        try {
            write(connection -> {
                var known = written;
                written = null; // in case that the transaction fails
                var sql = new Sql(connection);
                writeProcesses(sql);
                var begun = entries(entries, Set.of());
                for (var entry : begun.entrySet()) {
                    writeEntry(sql, entry);
                }
                return Optional.ofNullable(known).map(its -> its.with(begun));
            });
        } catch (StoreException e) {
            LOG.debug("Processes are signalled without a termination on the disk", e); // it is a reported problem
        }
    }

    @Override
    public boolean commit(CycleCommit cycle) {
        try {
            try {
                write(cycle);
            } catch (StoreException e) {
                if (!e.isFull()) {
                    throw e;
                }
                database.write(connection -> retention.makeRoom(new Sql(connection)));
                writeWithRoom(cycle);
            }
            return true;
        } catch (StoreException e) {
            LOG.debug("The cycle is not stored", e); // it is a reported problem
            return false;
        }
    }

    /** The history of hostile hosts alone can be larger than the database. */
    private void writeWithRoom(CycleCommit cycle) throws StoreException {
        try {
            write(cycle);
        } catch (StoreException e) {
            if (!e.isFull()) {
                throw e;
            }
            var bytes = new HashMap<String, Long>();
            cycle.state()
                    .all()
                    .forEach((kind, entries) -> entries.forEach((key, value) -> {
                        if (!kind.name().equals(TERMINATIONS)
                                && !kind.hostOf(key).isEmpty()) {
                            var size = (long) RecordJson.text(key).length()
                                    + RecordJson.text(value).length();
                            bytes.merge(kind.hostOf(key), size, Long::sum);
                        }
                    }));
            largest(bytes).forEach(host -> leftOut.put(host, cycle.cycle().at()));
            write(cycle);
        }
    }

    private void write(CycleCommit cycle) throws StoreException {
        write(connection -> Optional.of(write(connection, cycle)));
    }

    /** Writes in a transaction that returns what the database has after it; empty if that is not known. */
    private void write(Database.Work<Optional<Content>> work) throws StoreException {
        database.write(new Database.Work<Optional<Content>>() {
            @Override
            public Optional<Content> run(Connection connection) throws SQLException {
                return work.run(connection);
            }

            @Override
            public void committed(Optional<Content> content) {
                written = content.orElse(null);
            }
        });
    }

    private Content write(Connection connection, CycleCommit cycle) throws SQLException {
        var known = written;
        written = null; // in case that the transaction fails
        var isAnew = known == null || known.generation != database.generation();
        var before = known == null || isAnew ? Content.empty(database.generation()) : known;
        var sql = new Sql(connection);
        if (isAnew) {
            sql.update("DELETE FROM history");
            writeProcesses(sql);
        }
        sql.update("INSERT OR REPLACE INTO meta VALUES ('cycle', ?)", RecordJson.text(cycle.cycle()));
        var rows = new ActionRows(sql);
        for (var action : cycle.actions().entrySet()) {
            rows.write(action.getKey(), action.getValue());
        }
        writeEvents(sql, cycle.events());
        var violations = writeViolations(sql, cycle, before.violations, isAnew);
        nameUsers(sql, cycle);
        var history = database.isKept() ? writeHistory(sql, cycle, before.history) : Map.<Entry, Record>of();
        retention.apply(sql, cycle.cycle().at());
        return new Content(before.generation, history, violations);
    }

    /** Writes the events. Those of a cycle may need more than all that is kept, so older ones are deleted in between. */
    private void writeEvents(Sql sql, List<Event> events) throws SQLException {
        for (var count = 0; count < events.size(); count++) {
            EventRows.insert(sql, events.get(count));
            if (count % EVENTS_AT_ONCE == 0) {
                retention.deleteSome(sql);
            }
        }
    }

    /** Writes the violations that events concern, and the active ones that changed. */
    private Map<String, StoredViolation> writeViolations(
            Sql sql, CycleCommit cycle, Map<String, StoredViolation> before, boolean isAnew) throws SQLException {
        var rows = new ViolationRows(sql);
        var over = new LinkedHashMap<ViolationRecord, Instant>();
        for (var event : cycle.events()) {
            EventRows.violation(event.content())
                    .filter(violation -> !violation.active())
                    .ifPresent(violation -> over.put(violation, event.at()));
        }
        for (var violation : over.entrySet()) {
            rows.writeResolved(violation.getKey(), violation.getValue());
        }
        retention.deleteSome(sql);
        var now = new HashMap<String, StoredViolation>();
        for (var violation : cycle.active()) {
            var id = violation.entry().id();
            var known = before.get(id);
            if (known != null
                    && known.isFound() == violation.isFound()
                    && known.entry().isContinuedBy(violation.entry())) {
                now.put(id, known);
            } else {
                rows.writeActive(violation, cycle.cycle());
                now.put(id, violation);
            }
        }
        if (isAnew) {
            rows.removeActiveExcept(now.keySet());
        }
        return now;
    }

    /** Gives what was recorded under a uid the name of the account that is known by now, so that reports have each user once. */
    private static void nameUsers(Sql sql, CycleCommit cycle) throws SQLException {
        var nameless = new LinkedHashMap<Share, Long>();
        sql.forEach(
                "SELECT host, owner, SUM(bytes) FROM size WHERE kind IN ('action', 'violation') AND owner GLOB ? GROUP BY"
                        + " host, owner",
                row -> nameless.put(new Share(row.getString(1), row.getString(2)), row.getLong(3)),
                Share.UID + "[0-9]*");
        for (var each : nameless.entrySet()) {
            var host = each.getKey().host();
            var owner = each.getKey().owner();
            var uid = owner.substring(Share.UID.length());
            // Earlier versions wrote names that users had recorded as owners.
            var name = Accounts.numberIn(uid)
                    .flatMap(number -> cycle.names().find(host, number))
                    .map(SafeText::bounded);
            if (name.isPresent()) {
                var isNew = each.getValue() > 0;
                for (var table : isNew ? List.of("violation", "action") : List.<String>of()) {
                    sql.update(
                            "UPDATE %s SET user = CASE user WHEN ?1 THEN ?2 ELSE user END, owner = ?2 WHERE host = ?3 AND owner = ?4"
                                    .formatted(table),
                            uid,
                            name.get(),
                            host,
                            owner);
                }
                if (name.get().equals(uid)) {
                    continue;
                }
                // What a cycle measured is written up to a minute later.
                var since = isNew ? Long.MIN_VALUE : cycle.cycle().at().toEpochMilli() - LATE_USAGE.toMillis();
                var its = "FROM usage WHERE hour >= ?1 AND host = ?2 AND user = ?3";
                sql.update("""
                        INSERT INTO usage (hour, host, user, held, present, used, unknown, idle)
                            SELECT hour, host, ?4, held, present, used, unknown, idle %s
                            ON CONFLICT DO UPDATE SET held = held + excluded.held, present = present + excluded.present,
                                used = used + excluded.used, unknown = unknown + excluded.unknown, idle = idle + excluded.idle
                        """.formatted(its), since, host, uid, name.get());
                sql.update("DELETE " + its, since, host, uid);
            }
        }
    }

    /** Writes the entries that changed. Nothing of the largest hosts is kept if all together are too large, for an hour at least. */
    private Map<Entry, Record> writeHistory(Sql sql, CycleCommit cycle, Map<Entry, Record> before) throws SQLException {
        var at = cycle.cycle().at();
        leftOut.values().removeIf(since -> Duration.between(since, at).abs().compareTo(LEFT_OUT) > 0);
        var now = entries(cycle.state(), leftOut.keySet());
        for (var entry : before.keySet()) {
            if (!now.containsKey(entry)) {
                sql.update(
                        "DELETE FROM history WHERE host = ? AND kind = ? AND key = ?",
                        entry.host,
                        entry.kind,
                        RecordJson.text(entry.key));
            }
        }
        var isChanged = false;
        for (var entry : now.entrySet()) {
            if (!entry.getValue().equals(before.get(entry.getKey()))) {
                isChanged = true;
                writeEntry(sql, entry);
            }
        }
        if (isChanged) {
            leaveOutLargest(sql, at);
            now.keySet().removeIf(entry -> !entry.kind.equals(TERMINATIONS) && leftOut.containsKey(entry.host));
        }
        return now;
    }

    private static void writeEntry(Sql sql, Map.Entry<Entry, Record> entry) throws SQLException {
        sql.update(
                "INSERT OR REPLACE INTO history VALUES (?, ?, ?, ?)",
                entry.getKey().host,
                entry.getKey().kind,
                RecordJson.text(entry.getKey().key),
                RecordJson.text(entry.getValue()));
    }

    /** Returns all terminations, and the other entries of hosts that are not left out. */
    private static Map<Entry, Record> entries(SavedState state, Set<String> leftOut) {
        var all = new HashMap<Entry, Record>();
        state.all()
                .forEach((kind, entries) -> entries.forEach((key, value) -> {
                    var host = kind.hostOf(key);
                    if (kind.name().equals(TERMINATIONS) || !leftOut.contains(host)) {
                        all.put(new Entry(host, kind.name(), key), value);
                    }
                }));
        return all;
    }

    private void leaveOutLargest(Sql sql, Instant at) throws SQLException {
        var bytes = new HashMap<String, Long>();
        sql.forEach(
                "SELECT host, SUM(LENGTH(key) + LENGTH(value)) FROM history WHERE host <> '' AND kind <> ? GROUP BY host",
                row -> bytes.put(row.getString(1), row.getLong(2)),
                TERMINATIONS);
        for (var host : largest(bytes)) {
            sql.update("DELETE FROM history WHERE host = ? AND kind <> ?", host, TERMINATIONS);
            leftOut.put(host, at);
        }
    }

    /** Returns the hosts without which the others are not too large, the largest first. */
    private List<String> largest(Map<String, Long> bytes) {
        var sum = bytes.values().stream().mapToLong(Long::longValue).sum();
        var largest = new ArrayList<String>();
        for (var host : bytes.entrySet().stream()
                .sorted(Map.Entry.<String, Long>comparingByValue().reversed())
                .toList()) {
            if (sum > database.maxBytes() / HISTORY_SHARE) {
                largest.add(host.getKey());
                sum -= host.getValue();
            }
        }
        return largest;
    }

    @Override
    public Restored restore() {
        var restored = database.start(connection -> read(new Sql(connection)));
        return restored.orElseGet(() -> Restored.nothing(database.hasLost()));
    }

    private Restored read(Sql sql) throws SQLException {
        var meta = new HashMap<String, String>();
        sql.forEach("SELECT key, value FROM meta", row -> meta.put(row.getString(1), row.getString(2)));
        var unreadable = new TreeSet<String>();
        var cycle = Optional.ofNullable(meta.get("cycle")).flatMap(json -> {
            var last = RecordJson.read(json, SavedCycle.class);
            if (last.isEmpty()) {
                unreadable.add("the last cycle");
            }
            return last;
        });
        cycle.ifPresent(last -> retention.continueFrom(last.at()));
        var isSameBoot = !processes.isEmpty() && processes.equals(meta.get("processes"));
        if (!isSameBoot) {
            forgetProcesses(sql);
        }
        var rows = new ViolationRows(sql);
        var events = EventRows.latest(sql, EventLog.MAX_EVENTS, EventLog.MAX_SIZE);
        LOG.infof("Read %d events from the database", events.size());
        return new Restored(
                cycle,
                isSameBoot,
                readHistory(sql, unreadable),
                cycle.isPresent() ? rows.active(cycle.get()) : List.of(),
                rows.latestResolved(MAX_RESOLVED, MAX_RESOLVED_BYTES),
                events,
                Math.max(cycle.map(SavedCycle::lastEvent).orElse(0L), sql.number("SELECT MAX(sequence) FROM event")),
                sql.number("SELECT MAX(id) FROM action"),
                List.copyOf(unreadable),
                // One that was begun while an earlier run went on has nothing of what that run knew until its first
                // cycle.
                database.hasLost() || (cycle.isEmpty() && meta.containsKey("damaged")));
    }

    /** Identities of processes are not valid any more, also for a next run before the first cycle of this one. */
    private void forgetProcesses(Sql sql) throws SQLException {
        sql.update("DELETE FROM history WHERE host <> ''");
        writeProcesses(sql);
    }

    private void writeProcesses(Sql sql) throws SQLException {
        sql.update("INSERT OR REPLACE INTO meta VALUES ('processes', ?)", processes);
    }

    /** Reads the entries that this version can read. */
    private SavedState readHistory(Sql sql, Set<String> unreadable) throws SQLException {
        var state = SavedState.EMPTY;
        for (var kind : kinds) {
            state = state.with(read(sql, kind, unreadable));
        }
        return state;
    }

    private static <K extends Record, V extends Record> SavedState read(
            Sql sql, SavedKind<K, V> kind, Set<String> unreadable) throws SQLException {
        var entries = new LinkedHashMap<K, V>();
        sql.forEach(
                "SELECT host, key, value FROM history WHERE kind = ?",
                row -> {
                    var key = RecordJson.read(row.getString(2), kind.keyType());
                    var value = RecordJson.read(row.getString(3), kind.valueType());
                    if (key.isPresent() && value.isPresent()) {
                        entries.put(key.get(), value.get());
                    } else {
                        unreadable.add("%s of %s".formatted(kind.name(), row.getString(1)));
                    }
                },
                kind.name());
        return SavedState.EMPTY.with(kind, entries);
    }
}
