package dev.genv.enforcer.store;

import static dev.genv.enforcer.testsupport.builder.EnvBuilder.env;
import static dev.genv.enforcer.testsupport.builder.GpuProcessBuilder.process;
import static dev.genv.enforcer.testsupport.builder.HostBuilder.host;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import dev.genv.enforcer.enforcement.host.SafetyLimits;
import dev.genv.enforcer.model.Problem;
import dev.genv.enforcer.model.ProblemCode;
import dev.genv.enforcer.testsupport.TestTimeouts;
import dev.genv.enforcer.testsupport.builder.EnvBuilder;
import dev.genv.enforcer.testsupport.linux.Programs;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.PosixFilePermissions;
import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.FutureTask;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.stream.IntStream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** A database that cannot be used costs the memory of the service, and nothing else. */
class DatabaseFaultTest extends StoreFixture {
    private static final Set<Thread.State> WAITS =
            Set.of(Thread.State.WAITING, Thread.State.TIMED_WAITING, Thread.State.TERMINATED);

    private static final Duration LIMIT = Duration.ofMillis(100);

    private final CountDownLatch release = new CountDownLatch(1);

    @BeforeEach
    void findAStray() {
        node.setSnapshot(host().devices(2).with(process(7).uses(0)));
    }

    @ParameterizedTest
    @ValueSource(longs = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20})
    void aDamagedDatabaseIsRestoredOrSetAside(long seed) throws IOException {
        Files.writeString(directory.resolve("notes.txt"), "of somebody else");
        cycle();
        var id = only().id();
        cycle();
        stop();
        damage(directory.resolve(DataFolder.DATABASE), new Random(seed));
        start();
        var isSetAside = Files.exists(directory.resolve("damaged-" + DataFolder.DATABASE));
        var isRestored = registry.find(id).isPresent();
        cycle();
        assertThat(problems).isEqualTo(isSetAside ? List.of(ProblemCode.DATA_DAMAGED) : List.of());
        assertThat(node.executed).as("no second SIGTERM").hasSize(1);
        assertThat(isSetAside).isNotEqualTo(isRestored);
        restart();
        cycle();
        assertThat(only().cycles()).isGreaterThanOrEqualTo(2);
        assertThat(directory.resolve("notes.txt")).hasContent("of somebody else");
    }

    private static void damage(Path file, Random random) throws IOException {
        var bytes = Files.readAllBytes(file);
        switch (random.nextInt(3)) {
            case 0 -> Files.write(file, Arrays.copyOf(bytes, 1 + random.nextInt(bytes.length - 1)));
            case 1 -> {
                for (var page = 0; page < bytes.length; page += 4096) {
                    random.nextBytes(bytes); // every page
                }
                Files.write(file, bytes);
            }
            default -> {
                var some = new byte[8192];
                random.nextBytes(some);
                System.arraycopy(some, 0, bytes, 4096 * random.nextInt(bytes.length / 4096 - 2), some.length);
                Files.write(file, bytes);
            }
        }
    }

    @Test
    void afterALossNoSigtermIsSentUntilAnEarlierOneWouldBeOver() throws IOException {
        cycle();
        assertThat(node.executed).hasSize(1);
        stop();
        Files.write(directory.resolve(DataFolder.DATABASE), new byte[10_000]);
        start();
        for (var cycle = 0; cycle < 2; cycle++) {
            cycle();
            assertThat(node.executed).hasSize(1);
        }
        cycle();
        assertThat(node.executed).as("after KILL_AFTER").hasSize(2);
        assertThat(problems).containsExactly(ProblemCode.DATA_DAMAGED);
        Files.delete(directory.resolve("damaged-" + DataFolder.DATABASE));
        cycle();
        cycle();
        assertThat(problems).isEmpty();
    }

    @Test
    void damageWhileTheServiceRunsIsNoticed() throws IOException {
        cycle();
        var id = only().id();
        var file = directory.resolve(DataFolder.DATABASE);
        restart(); // so that everything is in the file
        cycle();
        var bytes = Files.readAllBytes(file);
        new Random(1).nextBytes(bytes);
        try (var out = Files.newOutputStream(file, StandardOpenOption.WRITE)) {
            out.write(bytes);
        }
        cycle();
        assertThat(only().id()).isEqualTo(id);
        restart();
        cycle();
        assertThat(problems).as("at the latest at the next start").containsExactly(ProblemCode.DATA_DAMAGED);
        assertThat(node.executed).as("no second SIGTERM").hasSize(1);
    }

    /** The rows are those of another version, whose JSON this one cannot read. */
    @ParameterizedTest
    @ValueSource(
            strings = {
                "UPDATE history SET value = '{}' WHERE kind = 'state'",
                "UPDATE history SET value = '{}' WHERE kind = 'termination'",
                "UPDATE meta SET value = '{}' WHERE key = 'cycle'"
            })
    void whatCannotBeReadLeadsToNoSecondSigterm(String damage) throws Exception {
        limits = new SafetyLimits(Duration.ZERO, Duration.ofMinutes(2), 0);
        restart();
        cycle();
        assertThat(node.executed).hasSize(1);
        var last = events.latest();
        stop();
        query(damage);
        start();
        cycle();
        assertThat(problems).containsExactly(ProblemCode.DATA_NOT_RESTORED);
        cycle();
        assertThat(node.executed).as("no second SIGTERM").hasSize(1);
        assertThat(events.latest()).as("no number has two meanings").isGreaterThan(last);
    }

    /** What the earlier boot left cannot be deleted, and the format is that of a newer version. */
    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "CREATE TRIGGER broken BEFORE DELETE ON history BEGIN SELECT RAISE(ABORT, 'broken'); END|boot 2",
                "PRAGMA user_version = 99|boot 1"
            })
    void aDatabaseThatCannotBeUsedStaysAsItIs(String damage, String boot) throws Exception {
        cycle();
        var shown = events.latest();
        stop();
        query(damage);
        var version = query("PRAGMA user_version");
        processes = boot;
        start();
        assertStartsWith(ProblemCode.DATA_UNWRITABLE);
        stop();
        assertThat(query("SELECT MAX(sequence) FROM event")).isEqualTo(shown);
        assertThat(query("PRAGMA user_version")).isEqualTo(version);
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "chmod 777 $D",
                "chmod 644 $D/enforcer.db",
                "mv $D/enforcer.db $D/elsewhere && ln -s $D/elsewhere $D/enforcer.db"
            })
    void whatOthersCanChangeOrReadAndLinksAreForeign(String change) throws Exception {
        cycle();
        stop();
        runInFolder(change);
        start();
        assertStartsWith(ProblemCode.DATA_FOREIGN);
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "rm $D/*",
                "rm $D/enforcer.db",
                "rm $D/enforcer.lock",
                "rm $D/enforcer.db-wal",
                "rm -r $D && mkdir -m 700 $D",
                "cp -a $D $D.new && mv $D $D.old && mv $D.new $D",
                "cp -a $D/enforcer.db $D/copy && mv $D/copy $D/enforcer.db"
            })
    void filesThatAreLostAreReportedAndWrittenAnew(String loss) throws Exception {
        stop();
        directory = Files.createDirectory(directory.resolve("data"));
        setPermissions(directory, "rwx------");
        limits = new SafetyLimits(Duration.ZERO, null, 0);
        start();
        cycle();
        cycle();
        runInFolder(loss);
        cycle();
        cycle();
        assertThat(problems).containsExactly(ProblemCode.DATA_UNWRITABLE);
        cycle();
        assertThat(problems).isEmpty();
        var id = only().id();
        restart();
        cycle();
        assertThat(only().id()).isEqualTo(id);
        assertThat(node.executed).as("one SIGTERM").hasSize(1);
    }

    @Test
    void eventsOfCyclesThatCouldNotBeStoredAreStoredLater() throws IOException {
        stop();
        directory = directory.resolve("displaced");
        Files.createDirectory(directory);
        start();
        Files.move(directory, directory.resolveSibling("elsewhere"));
        cycle();
        node.setSnapshot(host().devices(2));
        cycle();
        var before = events.after(0, 100).events();
        assertThat(before).hasSizeGreaterThan(3);
        Files.createDirectory(directory);
        cycle();
        cycle();
        assertThat(problems).isEmpty();
        restart();
        assertThat(events.after(0, 100).events()).containsSubsequence(before);
    }

    /** No test can cut the power, after which an intent must be on the disk if its signal was sent. */
    @Test
    void aTransactionEndsOnTheDisk() throws StoreException {
        assertThat(database.<Long>call(connection -> new Sql(connection).number("PRAGMA synchronous")))
                .as("FULL")
                .isEqualTo(2);
    }

    @Test
    void theSecondServiceHasMemoryOnly() throws IOException {
        cycle();
        var first = database;
        var id = only().id();
        start(new Database(new Database.Config(Optional.of(directory), maxBytes), TestTimeouts.HANG, Duration.ZERO));
        assertThat(registry.find(entry -> true, 10)).isEmpty();
        await().until(() -> {
            cycle();
            return problems.equals(List.of(ProblemCode.DATA_LOCKED));
        });
        first.close();
        cycle();
        cycle();
        assertThat(problems).as("it does not take over").isNotEmpty();
        restart();
        assertThat(only().id()).as("the second service has written nothing").isEqualTo(id);
    }

    @Test
    void theStartWaitsUntilTheEarlierServiceHasStopped() throws Exception {
        cycle();
        var first = database;
        var opening = new FutureTask<>(() -> {
            start();
            return true;
        });
        var thread = Thread.ofPlatform().daemon().start(opening);
        await().until(() -> WAITS.contains(thread.getState()));
        first.close();
        assertThat(opening.get()).isTrue();
        cycle();
        assertThat(problems).isEmpty();
        assertThat(only().cycles()).isEqualTo(2);
        assertThat(node.executed).as("one SIGTERM").hasSize(1);
    }

    @Test
    void aDatabaseThatIsFullLosesOldRowsAndKeepsTheState() throws IOException {
        stop();
        maxBytes = 1 << 20;
        start();
        cycle();
        var id = only().id();
        for (var cycle = 0; cycle < 900; cycle++) {
            var more = process(100 + cycle % 2).uses(1);
            node.setSnapshot(host().devices(2).with(process(7).uses(0), more));
            cycle();
            assertThat(problems).isEmpty();
        }
        assertThat(directory.resolve(DataFolder.DATABASE).toFile().length()).isLessThanOrEqualTo(maxBytes);
        restart();
        assertThat(registry.find(id)).isPresent().get().satisfies(entry -> {
            assertThat(entry.active()).isTrue();
            assertThat(entry.cycles()).isEqualTo(901);
        });
    }

    @Test
    void historyThatIsTooLargeIsLeftOut() throws IOException {
        stop();
        maxBytes = 1 << 20;
        limits = new SafetyLimits(Duration.ofSeconds(60), Duration.ofSeconds(30), 0);
        start();
        node.setSnapshot(host().devices(2)
                .with(IntStream.range(0, 4_000)
                        .mapToObj(number -> env("4711-" + number).attached(1))
                        .toArray(EnvBuilder[]::new))
                .with(process(7).uses(0)));
        for (var cycle = 0; cycle < 6; cycle++) {
            cycle();
        }
        assertThat(problems).containsExactly(ProblemCode.DATA_UNWRITABLE);
        var id = only().id();
        restart();
        for (var cycle = 0; cycle < 6; cycle++) {
            cycle();
        }
        assertThat(only().id()).isEqualTo(id);
        assertThat(problems).containsExactly(ProblemCode.DATA_UNWRITABLE);
        assertThat(node.executed).as("grace periods begin again").isEmpty();
        cycle();
        assertThat(node.executed).hasSize(1);
    }

    private void assertStartsWith(ProblemCode problem) {
        cycle();
        assertThat(problems).containsExactly(problem);
        assertThat(only().active()).isTrue();
    }

    /** Runs a command of the shell that knows the folder as D. */
    private void runInFolder(String command) throws IOException, InterruptedException {
        Programs.shell(directory.getParent(), "D=%s; %s".formatted(directory, command));
    }

    private static void setPermissions(Path file, String permissions) throws IOException {
        Files.setPosixFilePermissions(file, PosixFilePermissions.fromString(permissions));
    }

    // A disk that hangs: the thread of the database waits inside of a write.

    @Test
    void tasksFailAtOnceUntilAHangingDiskAnswers() {
        stop();
        try (var database =
                new Database(new Database.Config(Optional.of(directory), maxBytes), LIMIT, TestTimeouts.HANG)) {
            assertThat(database.start(DatabaseFaultTest::count)).contains(0L);
            var isCommitted = new AtomicBoolean();
            assertThatThrownBy(() -> database.write(new Database.Work<Boolean>() {
                        @Override
                        public Boolean run(Connection connection) {
                            awaitRelease();
                            return true;
                        }

                        @Override
                        public void committed(Boolean value) {
                            isCommitted.set(value);
                        }
                    }))
                    .hasMessageContaining("no answer within 100 ms");
            assertThat(database.problems()).extracting(Problem::code).containsExactly(ProblemCode.DATA_UNWRITABLE);
            for (var number = 0; number < 1_000; number++) {
                assertThatThrownBy(() -> database.call(DatabaseFaultTest::count))
                        .as("does not wait, and takes no memory")
                        .isInstanceOf(StoreException.class);
            }
            release.countDown();
            await().untilAsserted(() -> {
                assertThat(database.call(DatabaseFaultTest::count)).isZero();
                assertThat(database.problems()).isEmpty();
            });
            assertThat(isCommitted).as("the late write is known").isTrue();
        }
    }

    @Test
    void aStartThatIsTooLateRunsWithoutWhatEarlierRunsLeft() {
        stop();
        try (var database = new Database(new Database.Config(Optional.of(directory), maxBytes), LIMIT, LIMIT)) {
            assertThat(database.start(_ -> {
                        awaitRelease();
                        return true;
                    }))
                    .isEmpty();
            assertThat(database.hasLost()).isTrue();
            release.countDown();
            await().untilAsserted(() -> assertThatThrownBy(() -> database.call(DatabaseFaultTest::count))
                    .hasMessageContaining("another run"));
        }
    }

    private static long count(Connection connection) throws SQLException {
        return new Sql(connection).number("SELECT COUNT(*) FROM event");
    }

    private void awaitRelease() {
        try {
            release.await();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }
}
