package dev.genv.enforcer.store;

import dev.genv.enforcer.model.Problem;
import dev.genv.enforcer.model.ProblemCode;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.UUID;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicReference;
import org.jboss.logging.Logger;
import org.jspecify.annotations.Nullable;
import org.sqlite.ProgressHandler;
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
    /** How long the start checks the database; that takes longer from about 1 GiB on. */
    private static final Duration CHECK_LIMIT = Duration.ofSeconds(10);
    /** After so many steps SQLite asks whether the check goes on. */
    private static final int CHECK_STEPS = 1000;
    /** How long the start waits until it tries again to lock the folder: during an update the earlier service may still stop. */
    private static final Duration RETRY = Duration.ofMillis(100);

    private static final int MAX_WAITING = 100;
    private static final int PAGE_BYTES = 4096;
    private static final long LARGEST_PAGE_COUNT = 0xfffffffeL;
    private static final int CACHE_KIB = 512;
    private static final int BUSY_MILLIS = 1000;
    /** The size of the write-ahead log above which it is copied to the database, when nothing waits. */
    private static final long LARGEST_LOG = 4 << 20;

    private static final int VERSION = 5;
    /** A database without tables has at most so many pages. */
    private static final int EMPTY_PAGES = 2;

    private final Config config;
    private final Duration limit;
    private final Duration startLimit;
    private final Duration checkLimit;
    private final ThreadPoolExecutor thread = new ThreadPoolExecutor(
            1,
            1,
            0,
            TimeUnit.SECONDS,
            new ArrayBlockingQueue<>(MAX_WAITING),
            Thread.ofPlatform().name("database").daemon().factory());
    /** Identifies the database; it is known after the start. */
    private final AtomicReference<@Nullable UUID> id = new AtomicReference<>();

    private final long begin = System.nanoTime();
    private final List<Problem> notices = new ArrayList<>();
    private volatile @Nullable Problem problem;
    private volatile boolean hangs;
    /** Whether there may be a database of earlier runs. */
    private volatile boolean isThere = true;
    /** Whether something that earlier runs wrote is lost. */
    private volatile boolean hasLost;
    /** Only the thread of the database uses it. */
    private @Nullable Opened opened;

    private boolean isReleased;
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

        /** Takes the result over after the commit, also if nobody waits for it any more. */
        default void committed(T value) {}
    }

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
        this(config, LIMIT, START_LIMIT, CHECK_LIMIT);
    }

    Database(Config config, Duration limit, Duration startLimit) {
        this(config, limit, startLimit, startLimit);
    }

    Database(Config config, Duration limit, Duration startLimit, Duration checkLimit) {
        this.config = config;
        this.limit = limit;
        this.startLimit = startLimit;
        this.checkLimit = checkLimit;
    }

    /**
     * Runs the first task, which reads what earlier runs left.
     *
     * @return empty if the database cannot be used in time. Then the service runs without it, and uses it after a restart
     */
    public <T> Optional<T> start(Work<T> work) {
        try {
            return Optional.of(call(work, startLimit, true));
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
        return call(work, limit, false);
    }

    /** Runs a task that writes, and waits until it is on the disk. Later tasks do not wait while the disk has not answered it. */
    <T> T write(Work<T> work) throws StoreException {
        return call(work, limit, true);
    }

    private <T> T call(Work<T> work, Duration most, boolean isWriter) throws StoreException {
        var task = new FutureTask<>(() -> run(work));
        if (isHanging() || !offer(task)) {
            throw thread.isShutdown() ? StoreException.unwritable("the service is being stopped") : hanging();
        }
        return await(task, most, isWriter);
    }

    /** Runs a task soon, without waiting. Returns whether there is room for it; there is none while the disk hangs. */
    public boolean submit(Work<?> work) {
        return !isHanging() && offer(new FutureTask<>(() -> run(work)));
    }

    private boolean offer(Runnable task) {
        try {
            thread.execute(task);
            return true;
        } catch (RejectedExecutionException e) {
            return false;
        }
    }

    /** Whether a task that wrote was not done in time, and the thread still has something to do. */
    private boolean isHanging() {
        return hangs && (thread.getActiveCount() > 0 || !thread.getQueue().isEmpty());
    }

    private <T> T await(FutureTask<T> result, Duration most, boolean isWriter) throws StoreException {
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
        } else if (isHanging()) {
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
        var isHanging = isHanging();
        offer(this::release);
        thread.shutdown();
        try {
            if (!isHanging) {
                thread.awaitTermination(limit.toNanos(), TimeUnit.NANOSECONDS);
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    private void release() {
        isReleased = true;
        truncateLog();
        if (opened != null) {
            close(opened);
        }
    }

    private <T> T run(Work<T> work) throws IOException, InterruptedException {
        try {
            var open = open();
            T value;
            try {
                value = work.run(open.connection);
                open.connection.commit();
                work.committed(value);
            } catch (SQLException | RuntimeException | Error e) { // errors too, for example a lack of memory
                throw failure(open, e);
            }
            problem = open.folder == null ? null : damage(open.folder);
            if (open.folder != null && thread.getQueue().isEmpty() && open.folder.logBytes() > LARGEST_LOG) {
                offer(this::truncateLog);
            }
            return value;
        } catch (StoreException e) {
            problem = e.problem();
            throw e;
        } catch (IOException | RuntimeException | Error e) {
            LOG.error("The database failed", e);
            throw e;
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
        if (isReleased) {
            throw StoreException.unwritable("the service is being stopped");
        }
        var open = opened;
        if (open != null && open.folder != null && !open.folder.isInPlace()) {
            report(StoreException.unwritable(name()
                            + ": the folder or the database in it was deleted or replaced while the service ran; what"
                            + " it had may be lost, and the service writes its state again")
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
        var sql = new Sql(connection);
        // In memory, active violations may take more, as they do elsewhere in the service.
        var pages = isKept() ? config.maxBytes() / PAGE_BYTES : LARGEST_PAGE_COUNT;
        for (var pragma : List.of(
                "page_size = " + PAGE_BYTES,
                "auto_vacuum = INCREMENTAL",
                "synchronous = FULL",
                "cache_size = -" + CACHE_KIB,
                "temp_store = MEMORY",
                "trusted_schema = OFF",
                "wal_autocheckpoint = 0",
                "max_page_count = " + pages,
                "journal_mode = WAL")) {
            sql.execute("PRAGMA " + pragma);
        }
        var check = generation == 0 ? check(connection) : "ok";
        if (!"ok".equals(check)) {
            throw new SQLiteException(check, SQLiteErrorCode.SQLITE_CORRUPT);
        }
        var version = sql.number("PRAGMA user_version");
        if (version == 0 && sql.number("PRAGMA page_count") > EMPTY_PAGES) {
            throw new SQLiteException("it has no schema", SQLiteErrorCode.SQLITE_NOTADB);
        }
        migrate(connection, version);
    }

    /** Checks as much of the database as there is time for. SQLite also notices damage when it reads a page. */
    private String check(Connection connection) throws SQLException {
        var begun = System.nanoTime();
        ProgressHandler.setHandler(connection, CHECK_STEPS, new ProgressHandler() {
            @Override
            protected int progress() {
                return System.nanoTime() - begun > checkLimit.toNanos() ? 1 : 0;
            }
        });
        try {
            return new Sql(connection).text("PRAGMA quick_check(1)");
        } catch (SQLException e) {
            if (code(e) != SQLiteErrorCode.SQLITE_INTERRUPT.code) {
                throw e;
            }
            LOG.infof("%s: the database is too large to be checked completely at the start", name());
            return "ok";
        } finally {
            ProgressHandler.clearHandler(connection);
        }
    }

    /** Brings the tables to the present version, one script after the other, and gives a new database its id. */
    private void migrate(Connection connection, long version) throws SQLException, IOException {
        if (version > VERSION) {
            throw StoreException.unwritable(
                    "%s: a newer version of the service wrote the database, with schema %d".formatted(name(), version));
        }
        connection.setAutoCommit(false);
        var sql = new Sql(connection);
        for (var next = version + 1; next <= VERSION; next++) {
            for (var statement : script(next)) {
                sql.execute(statement);
            }
            sql.execute("PRAGMA user_version = " + next);
        }
        if (version == 0) {
            id.set(UUID.randomUUID());
            sql.update("INSERT INTO meta VALUES ('id', ?)", id().toString());
            if (hasReplaced) {
                sql.update("INSERT INTO meta VALUES ('damaged', ?)", Long.toString(System.currentTimeMillis()));
            }
        }
        var its = UUID.fromString(sql.text("SELECT value FROM meta WHERE key = 'id'"));
        connection.commit();
        if (!id.compareAndSet(null, its) && !its.equals(id.get())) {
            throw StoreException.unwritable(name()
                    + ": the folder has the database of another run now, which the service uses after a restart");
        }
    }

    private static String[] script(long version) throws IOException {
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

    private static int code(SQLException why) {
        return why instanceof SQLiteException sqlite ? sqlite.getResultCode().code & 0xff : 0;
    }

    /** Copies the write-ahead log to the database. A reader, such as sqlite3, may prevent that; then a later task tries again. */
    private void truncateLog() {
        var open = opened;
        if (open == null || open.folder == null) {
            return;
        }
        try {
            open.connection.setAutoCommit(true);
            new Sql(open.connection).execute("PRAGMA wal_checkpoint(TRUNCATE)");
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
