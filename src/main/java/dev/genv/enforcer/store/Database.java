package dev.genv.enforcer.store;

import dev.genv.enforcer.model.Problem;
import dev.genv.enforcer.model.ProblemCode;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.UUID;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Consumer;
import org.jboss.logging.Logger;
import org.jspecify.annotations.Nullable;
import org.sqlite.SQLiteConfig;
import org.sqlite.SQLiteErrorCode;
import org.sqlite.SQLiteException;

/**
 * The database of the service: a file in its folder, or the same tables in memory. One thread owns the connection, because a disk may hang
 * for ever. Others wait for that thread, but not longer than a limit.
 *
 * <p>If the file cannot be used, every further task tries to open it again. A database of another run is then left as it is. If the folder
 * or the file was replaced or is damaged, a new one is begun.
 */
public final class Database implements AutoCloseable {
    private static final Logger LOG = Logger.getLogger(Database.class);
    /** How long an action or the end of a cycle waits for the disk. Tests set more, because their disk may be slow. */
    private static final Duration LIMIT = Duration.ofSeconds(Long.getLong("store.limit-seconds", 2));
    /** How long the start of the service waits until the database is open. */
    private static final Duration START_LIMIT = Duration.ofSeconds(30);
    /** How long the start waits until it tries again to lock the folder: during an update the earlier service may still stop. */
    private static final Duration RETRY = Duration.ofMillis(100);

    private static final int MAX_WAITING = 100;
    private static final int PAGE_BYTES = 4096;
    private static final int CACHE_KIB = 512;
    private static final int BUSY_MILLIS = 1000;
    /** The size of the write-ahead log above which it is copied to the database, when nothing waits. */
    private static final long LARGEST_LOG = 4 << 20;

    private static final int VERSION = 1;
    /** A database without tables has at most so many pages. */
    private static final int EMPTY_PAGES = 2;

    private final Config config;
    private final Duration limit;
    private final Duration startLimit;
    private final BlockingQueue<Task<?>> tasks = new ArrayBlockingQueue<>(MAX_WAITING);
    /** Identifies the database; it is known after the start. */
    private final AtomicReference<@Nullable UUID> id = new AtomicReference<>();

    private final long begin = System.nanoTime();
    private final Thread thread;
    private final List<Problem> notices = new ArrayList<>();
    private volatile @Nullable Problem problem;
    private volatile boolean hangs;
    private volatile boolean isIdle;
    private volatile boolean isClosed;
    /** Whether there may be a database of earlier runs. */
    private volatile boolean isThere = true;
    /** Whether something that earlier runs wrote is lost. */
    private volatile boolean hasLost;
    /** Only the thread of the database uses it. */
    private @Nullable Opened opened;

    private int generation;
    /** Whether a database was damaged, deleted or replaced, so that the next new one lacks the past. */
    private boolean hasReplaced;

    /**
     * The configuration of the database.
     *
     * @param folder its folder; empty to keep the tables in memory
     * @param maxBytes the largest size of the database; tables in memory may be larger for active violations
     */
    public record Config(Optional<Path> folder, long maxBytes) {}

    /** Something that is done in one transaction. It closes its statements. */
    @FunctionalInterface
    public interface Work<T> {
        T run(Connection connection) throws SQLException;
    }

    /** A task; it is called with the result when the transaction has ended. */
    private record Task<T>(Work<T> work, Consumer<T> committed, CompletableFuture<T> result) {}

    private record Opened(
            Connection connection,
            @Nullable DataFolder folder,
            @Nullable UUID id) {
        void close() {
            try {
                connection.close();
            } catch (SQLException e) {
                LOG.debug("The database was not closed", e);
            }
            if (folder != null) {
                folder.close();
            }
        }
    }

    public Database(Config config) {
        this(config, LIMIT, START_LIMIT);
    }

    /** Begins to open the database; its first task waits for that. */
    Database(Config config, Duration limit, Duration startLimit) {
        this.config = config;
        this.limit = limit;
        this.startLimit = startLimit;
        thread = Thread.ofPlatform().name("database").daemon().start(this::run);
    }

    /**
     * Runs the first task, which reads what earlier runs left.
     *
     * @return empty if the database cannot be used in time. Then the service runs without it, and uses it after a restart
     */
    public <T> Optional<T> start(Work<T> work) {
        try {
            return Optional.of(call(work, _ -> {}, startLimit, true));
        } catch (StoreException e) {
            hasLost = isThere;
            problem = e.problem();
            LOG.warnf("The service runs without what earlier runs left: %s", e.getMessage());
            id.set(UUID.randomUUID()); // so that a database that is opened later stays as it is
            return Optional.empty();
        }
    }

    /** Runs a task that reads, and waits for its result. */
    public <T> T call(Work<T> work) throws StoreException {
        return call(work, _ -> {}, limit, false);
    }

    /** Runs a task that writes, and waits until it is on the disk. Later tasks do not wait while the disk has not answered it. */
    <T> T write(Work<T> work) throws StoreException {
        return write(work, _ -> {});
    }

    /** The same with something that is called on the thread of the database when the task is on the disk, also after the limit. */
    <T> T write(Work<T> work, Consumer<T> committed) throws StoreException {
        return call(work, committed, limit, true);
    }

    private <T> T call(Work<T> work, Consumer<T> committed, Duration most, boolean isWriter) throws StoreException {
        if (isClosed) {
            throw StoreException.unwritable("the service is being stopped");
        }
        var task = new Task<>(work, committed, new CompletableFuture<T>());
        if ((hangs && !isIdle) || !tasks.offer(task)) {
            throw hanging();
        }
        return await(task.result, most, isWriter);
    }

    /** Runs a task soon, without waiting. Returns whether there is room for it; there is none while the disk hangs. */
    public boolean submit(Work<?> work) {
        return !isClosed && !(hangs && !isIdle) && tasks.offer(task(work));
    }

    private static <T> Task<T> task(Work<T> work) {
        return new Task<>(work, _ -> {}, new CompletableFuture<>());
    }

    private <T> T await(CompletableFuture<T> result, Duration most, boolean isWriter) throws StoreException {
        var deadline = System.nanoTime() + most.toNanos();
        var interrupted = false;
        try {
            while (true) {
                try {
                    var value = result.get(deadline - System.nanoTime(), TimeUnit.NANOSECONDS);
                    hangs = false;
                    return value;
                } catch (TimeoutException e) {
                    hangs = hangs || isWriter;
                    throw hanging();
                } catch (ExecutionException e) {
                    hangs = false;
                    throw e.getCause() instanceof StoreException known
                            ? known
                            : StoreException.unwritable(String.valueOf(e.getCause()));
                } catch (InterruptedException e) {
                    interrupted = true; // the wait is short
                }
            }
        } finally {
            if (interrupted) {
                Thread.currentThread().interrupt();
            }
        }
    }

    private StoreException hanging() {
        return StoreException.unwritable("%s: no answer within %d ms".formatted(name(), limit.toMillis()));
    }

    private String name() {
        return config.folder().map(Path::toString).orElse("memory");
    }

    /** Whether a restart finds the database, so that there is a use for what only a restart reads. */
    boolean isKept() {
        return config.folder().isPresent();
    }

    /** Identifies the database, whose numbers of events continue over restarts. */
    public UUID id() {
        var known = id.get();
        return known == null ? new UUID(0, 0) : known;
    }

    /** Whether something that earlier runs wrote is lost: the database is damaged, or could not be read at the start. */
    public boolean hasLost() {
        return hasLost;
    }

    /** Changes when the file was opened anew, so that it may lack what was written before. Only tasks may ask. */
    int generation() {
        return generation;
    }

    long maxBytes() {
        return config.maxBytes();
    }

    /** Returns what is wrong at present, and once what was. */
    public List<Problem> problems() {
        var all = new ArrayList<Problem>();
        synchronized (notices) {
            all.addAll(notices);
            notices.clear();
        }
        var present = problem;
        if (present != null) {
            all.add(present);
        } else if (hangs && !isIdle) {
            all.add(hanging().problem());
        }
        return all;
    }

    private void report(Problem notice) {
        LOG.warn(notice.detail());
        synchronized (notices) {
            notices.add(notice);
        }
    }

    /** Does what waits, as far as the disk allows it in time, and releases the folder for other services. */
    @Override
    public void close() {
        isClosed = true;
        tasks.offer(task(_ -> true)); // wakes the thread
        try {
            if (!hangs || isIdle) {
                thread.join(limit);
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    private void run() {
        try {
            while (!isClosed || !tasks.isEmpty()) {
                isIdle = tasks.isEmpty();
                var task = tasks.take();
                isIdle = false;
                run(task);
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
        if (opened != null) {
            checkpoint(opened, "TRUNCATE");
            close(opened);
        }
    }

    private <T> void run(Task<T> task) throws InterruptedException {
        try {
            var open = open();
            T value;
            try {
                value = task.work.run(open.connection);
                open.connection.commit();
            } catch (SQLException | RuntimeException | Error e) { // errors too, for example a lack of memory
                throw failure(open, e);
            }
            problem = open.folder == null ? null : damage(open.folder);
            task.committed.accept(value);
            task.result.complete(value);
            if (open.folder != null && tasks.isEmpty() && open.folder.logBytes() > LARGEST_LOG) {
                checkpoint(open, "TRUNCATE");
            }
        } catch (StoreException e) {
            problem = e.problem();
            task.result.completeExceptionally(e);
        } catch (IOException | RuntimeException | Error e) {
            LOG.error("The database failed", e);
            task.result.completeExceptionally(e);
        }
    }

    private @Nullable Problem damage(DataFolder folder) throws IOException {
        return folder.hasDamaged()
                ? new Problem(
                        ProblemCode.DATA_DAMAGED,
                        "an earlier database was damaged and is kept as %s; delete it when it is no longer needed"
                                .formatted(folder.damaged()))
                : null;
    }

    private Opened open() throws StoreException, InterruptedException {
        var open = opened;
        if (open != null && open.folder != null && !open.folder.isInPlace()) {
            report(StoreException.unwritable(name()
                            + ": the folder or the database in it was deleted or replaced while the service ran; what it had may"
                            + " be lost, and the service writes its state again")
                    .problem());
            giveUp(open, open.folder);
            open = null;
        }
        if (open != null && !Objects.equals(open.id, id.get())) { // the start was given up
            close(open);
            open = null;
        }
        return open == null ? reopen() : open;
    }

    private Opened reopen() throws StoreException, InterruptedException {
        isThere = config.folder().map(DataFolder::hasDatabase).orElse(false);
        while (true) {
            try {
                var folder = config.folder().isEmpty()
                        ? null
                        : DataFolder.open(config.folder().get());
                return open(folder);
            } catch (StoreException e) {
                var isLocked = e.problem().code() == ProblemCode.DATA_LOCKED;
                if (!isLocked || id.get() != null || System.nanoTime() - begin > startLimit.toNanos()) {
                    throw e;
                }
                Thread.sleep(RETRY);
            }
        }
    }

    /** Closes a database that the next run would not find. */
    private void giveUp(Opened open, DataFolder folder) {
        hasReplaced = true;
        opened = null;
        try (folder) {
            open.connection.close();
            folder.removeLog();
        } catch (SQLException | IOException e) {
            LOG.debug("The database was not closed", e);
        }
    }

    private Opened open(@Nullable DataFolder folder) throws StoreException {
        Opened open = null;
        try {
            open = new Opened(connectOrReplace(folder), folder, id.get());
            opened = open;
            generation++;
            return open;
        } catch (SQLException e) {
            throw isBusy(e) ? locked(e) : StoreException.unwritable(name(), e);
        } catch (StoreException e) {
            throw e;
        } catch (IOException e) {
            throw StoreException.unwritable(name(), e);
        } finally {
            if (open == null && folder != null) {
                folder.close();
            }
        }
    }

    private Connection connectOrReplace(@Nullable DataFolder folder) throws SQLException, IOException {
        try {
            return connect(folder);
        } catch (SQLException e) {
            if (folder == null || !isDamage(e)) {
                throw e;
            }
            setAside(folder, e);
            return connect(folder);
        }
    }

    private Connection connect(@Nullable DataFolder folder) throws SQLException, IOException {
        var sqlite = new SQLiteConfig();
        sqlite.setBusyTimeout(BUSY_MILLIS);
        var connection =
                sqlite.createConnection(folder == null ? "jdbc:sqlite::memory:" : "jdbc:sqlite:" + folder.database());
        try {
            prepare(connection);
            return connection;
        } catch (SQLException | IOException | RuntimeException | Error e) {
            connection.close();
            throw e;
        }
    }

    private void prepare(Connection connection) throws SQLException, IOException {
        try (var statement = connection.createStatement()) {
            statement.executeUpdate("PRAGMA page_size = " + PAGE_BYTES);
            statement.executeUpdate("PRAGMA auto_vacuum = INCREMENTAL");
            statement.executeUpdate("PRAGMA synchronous = FULL");
            statement.executeUpdate("PRAGMA cache_size = -" + CACHE_KIB);
            statement.executeUpdate("PRAGMA temp_store = MEMORY");
            statement.executeUpdate("PRAGMA trusted_schema = OFF");
            query(statement, "PRAGMA wal_autocheckpoint = 0");
            if (isKept()) { // in memory, active violations may take more, as they do elsewhere in the service
                query(statement, "PRAGMA max_page_count = " + config.maxBytes() / PAGE_BYTES);
            }
            query(statement, "PRAGMA journal_mode = WAL");
            var check = generation == 0 ? query(statement, "PRAGMA quick_check(1)") : "ok";
            if (!"ok".equals(check)) {
                throw new SQLiteException(String.valueOf(check), SQLiteErrorCode.SQLITE_CORRUPT);
            }
            var version = number(statement, "PRAGMA user_version");
            if (version == 0 && number(statement, "PRAGMA page_count") > EMPTY_PAGES) {
                throw new SQLiteException("it has no schema", SQLiteErrorCode.SQLITE_NOTADB);
            }
            migrate(connection, version);
        }
    }

    private static int number(Statement statement, String sql) throws SQLException {
        return Integer.parseInt(String.valueOf(query(statement, sql)));
    }

    /** Returns the first column of the first row, as text. */
    private static @Nullable String query(Statement statement, String sql) throws SQLException {
        try (var rows = statement.executeQuery(sql)) {
            return rows.next() ? rows.getString(1) : null;
        }
    }

    /** Brings the tables to the present version, one script after the other, and gives a new database its id. */
    private void migrate(Connection connection, int version) throws SQLException, IOException {
        if (version > VERSION) {
            throw StoreException.unwritable(
                    "%s: a newer version of the service wrote the database, with schema %d".formatted(name(), version));
        }
        connection.setAutoCommit(false);
        try (var statement = connection.createStatement()) {
            for (var next = version + 1; next <= VERSION; next++) {
                for (var sql : script(next)) {
                    statement.executeUpdate(sql);
                }
                statement.executeUpdate("PRAGMA user_version = " + next);
            }
            if (version == 0) {
                id.set(UUID.randomUUID());
                statement.executeUpdate("INSERT INTO meta VALUES ('id', '%s')".formatted(id()));
                if (hasReplaced) {
                    statement.executeUpdate(
                            "INSERT INTO meta VALUES ('damaged', '%d')".formatted(System.currentTimeMillis()));
                }
            }
            var its = UUID.fromString(String.valueOf(query(statement, "SELECT value FROM meta WHERE key = 'id'")));
            connection.commit();
            if (!id.compareAndSet(null, its) && !its.equals(id.get())) {
                throw StoreException.unwritable(name()
                        + ": the folder has the database of another run now, which the service uses after a restart");
            }
        }
    }

    private static String[] script(int version) throws IOException {
        try (var in = Database.class.getResourceAsStream("schema-%d.sql".formatted(version))) {
            if (in == null) {
                throw new IOException("the schema is missing");
            }
            return new String(in.readAllBytes(), StandardCharsets.UTF_8).split(";\n\n");
        }
    }

    /** Rolls back, and closes what cannot be used any more. */
    private StoreException failure(Opened open, Throwable why) {
        try {
            open.connection.rollback();
        } catch (SQLException e) {
            why.addSuppressed(e);
            beginAnew(open.connection);
        }
        if (!(why instanceof SQLException sql)) {
            LOG.error("A task of the database failed", why);
            return StoreException.unwritable("%s: %s".formatted(name(), why));
        }
        if (open.folder != null && isDamage(sql)) {
            try {
                open.connection.close();
                setAside(open.folder, sql);
            } catch (SQLException | StoreException e) {
                why.addSuppressed(e);
            }
        }
        if (code(sql) == SQLiteErrorCode.SQLITE_FULL.code) {
            return StoreException.full("%s: %s".formatted(name(), sql.getMessage()));
        }
        if (isBusy(sql)) {
            return locked(sql);
        }
        if (open.folder != null) {
            close(open);
        }
        return StoreException.unwritable(name(), sql);
    }

    private void close(Opened open) {
        open.close();
        opened = null;
    }

    private void setAside(DataFolder folder, SQLException why) throws StoreException {
        hasLost = true;
        hasReplaced = true;
        LOG.errorf("The database in %s is damaged and set aside: %s", name(), why.getMessage());
        try {
            folder.setAside();
            folder.createFile();
        } catch (IOException e) {
            throw StoreException.unwritable(name(), e);
        }
    }

    /** SQLite may have rolled back by itself; then the driver does not begin the next transaction. */
    private static void beginAnew(Connection connection) {
        for (var mode : List.of(true, false)) {
            try {
                connection.setAutoCommit(mode);
            } catch (SQLException e) {
                LOG.debug("There was no transaction to end", e);
            }
        }
    }

    private static boolean isBusy(SQLException why) {
        return code(why) == SQLiteErrorCode.SQLITE_BUSY.code;
    }

    private StoreException locked(SQLException why) {
        return new StoreException(
                ProblemCode.DATA_LOCKED, "another program has locked %s: %s".formatted(name(), why.getMessage()));
    }

    private static boolean isDamage(SQLException why) {
        return code(why) == SQLiteErrorCode.SQLITE_CORRUPT.code || code(why) == SQLiteErrorCode.SQLITE_NOTADB.code;
    }

    /** Returns the primary result code. */
    private static int code(SQLException why) {
        return why instanceof SQLiteException sqlite ? sqlite.getResultCode().code & 0xff : 0;
    }

    /** Copies the write-ahead log to the database. A reader, such as sqlite3, may prevent that; then a later task tries again. */
    private static void checkpoint(Opened open, String mode) {
        if (open.folder == null) {
            return;
        }
        try (var statement = open.connection.createStatement()) {
            open.connection.setAutoCommit(true);
            query(statement, "PRAGMA wal_checkpoint(%s)".formatted(mode));
        } catch (SQLException e) {
            LOG.debug("The write-ahead log was not copied", e);
        } finally {
            try {
                open.connection.setAutoCommit(false);
            } catch (SQLException e) {
                LOG.debug("The connection is broken", e);
            }
        }
    }
}
