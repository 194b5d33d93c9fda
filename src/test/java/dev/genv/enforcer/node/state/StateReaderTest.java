package dev.genv.enforcer.node.state;

import static dev.genv.enforcer.testsupport.TestTimeouts.HANG;
import static java.nio.charset.StandardCharsets.ISO_8859_1;
import static java.util.Objects.requireNonNull;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.genv.enforcer.genv.DevicesFile;
import dev.genv.enforcer.genv.EnvsFile;
import dev.genv.enforcer.host.StateFacts.LockFacts.Outcome;
import dev.genv.enforcer.linux.FileCalls;
import dev.genv.enforcer.model.Problem;
import dev.genv.enforcer.model.ProblemCode;
import dev.genv.enforcer.node.proc.ProcFs;
import dev.genv.enforcer.observation.StateParser;
import dev.genv.enforcer.observation.StateParser.State;
import dev.genv.enforcer.testsupport.fake.FakeProc;
import dev.genv.enforcer.testsupport.linux.Fifo;
import dev.genv.enforcer.testsupport.state.StateFiles;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.MethodSource;

@Timeout(600)
class StateReaderTest {
    private static final Path PROC = Path.of("/proc");

    private final Path path;
    private final StateReader reader;
    private final StateParser parser;

    StateReaderTest(@TempDir Path folder) throws IOException {
        path = Files.createDirectory(folder.resolve("genv"));
        parser = new StateParser(path.toString());
        reader = reader(HANG, PROC);
    }

    private StateReader reader(Duration lockTimeout, Path root) {
        var proc = new ProcFs(root);
        return new StateReader(path, lockTimeout, new StateAccess(path, proc), new LockHolders(proc));
    }

    @Test
    void missingDirectoryIsAbsentState() throws Exception {
        Files.delete(path);
        assertThat(read()).isEqualTo(State.ABSENT);
        assertThat(path).doesNotExist();
    }

    @Test
    void emptyDirectoryIsAbsentStateAndStaysEmpty() throws Exception {
        var state = read();
        assertThat(state).isEqualTo(State.ABSENT.withLockWait(state.lockWait()));
        assertThat(path).isEmptyDirectory();
    }

    static Stream<String> unreadableContents() {
        return Stream.of(
                "{}",
                "{\"envs\": []} x",
                "{\"envs\": [{\"eid\": \"\u00fc\"}]}", // not UTF-8
                "{\"envs\": " + "[".repeat(1000) + "]".repeat(1000) + "}",
                "{\"envs\": [" + "7,".repeat(2_000_000) + "7]}",
                "{\"envs\": [" + "9".repeat(100_000) + "]}",
                " ".repeat(17 << 20));
    }

    @ParameterizedTest
    @MethodSource("unreadableContents")
    void unreadableFileDoesNotAffectTheOther(String content) throws Exception {
        new StateFiles(path).device(0).write();
        Files.write(path.resolve("envs.json"), content.getBytes(ISO_8859_1));
        assertUnreadable(read().envs(), ProblemCode.STATE_UNREADABLE, "envs.json");
        assertThat(devices(read()).devices()).hasSize(1);
    }

    @Test
    void linkToASystemFileIsNotRead() throws Exception {
        new StateFiles(path).device(0).writeDevices();
        for (var target : List.of("/etc/passwd", "/proc/self/environ", "/proc/self/fd/0", "/dev/zero", "/absent")) {
            Files.createSymbolicLink(path.resolve("envs.json"), Path.of(target));
            assertUnreadable(read().envs(), ProblemCode.STATE_UNREADABLE, "is a symbolic link");
            Files.delete(path.resolve("envs.json"));
        }
    }

    private State read() throws InterruptedException {
        return read(reader);
    }

    private State read(StateReader from) throws InterruptedException {
        return parser.parse(null, from.read(Duration.ZERO));
    }

    private static EnvsFile envs(State state) {
        assertThat(state.envs()).isInstanceOf(State.File.Present.class);
        return ((State.File.Present<EnvsFile>) state.envs()).content();
    }

    private static DevicesFile devices(State state) {
        assertThat(state.devices()).isInstanceOf(State.File.Present.class);
        return ((State.File.Present<DevicesFile>) state.devices()).content();
    }

    private static void assertUnreadable(State.File<?> file, ProblemCode code, String why) {
        assertThat(file).isInstanceOfSatisfying(State.File.Unreadable.class, unreadable -> {
            assertThat(unreadable.problem().code()).isEqualTo(code);
            assertThat(unreadable.problem().detail()).contains(why);
        });
    }

    @Test
    void directoryMovedOnTheHostIsNotRead(@TempDir Path folder) throws Exception {
        new StateFiles(path).env("1", 1000, null, null).device(0).write();
        var fake = new FakeProc(folder);
        fake.mountNamespace("self", 2).mountNamespace("1", 1);
        fake.mounts("self", "36 22 98:0 /genv %s rw - ext4 /dev/sda rw".formatted(path.toRealPath()));
        fake.mounts("1", "24 22 98:0 / /data rw - ext4 /dev/sda rw");
        var onHost = Files.createDirectories(folder.resolve("1/root")).resolve("data");
        Files.createSymbolicLink(onHost, path.toRealPath().getParent());
        var contained = reader(HANG, folder);
        assertThat(envs(read(contained)).environments()).hasSize(1);
        Files.delete(onHost);
        assertUnreadable(read(contained).envs(), ProblemCode.STATE_DIRECTORY_MOVED, "/data/genv");
        assertUnreadable(read(contained).devices(), ProblemCode.STATE_DIRECTORY_MOVED, "recreate the container");
        Files.createSymbolicLink(onHost, path.toRealPath().getParent());
        assertThat(envs(read(contained)).environments()).hasSize(1);
    }

    /** So nobody escapes by holding the lock. */
    @Test
    void readsWithoutTheLockAfterTimeoutAndNamesTheHolder() throws Exception {
        new StateFiles(path).env("1", 1000, null, null).device(0).write();
        try (var directory = requireNonNull(StateDirectory.open(path));
                var lock = GenvLock.acquire(directory, Duration.ofSeconds(1), true)) {
            assertThat(lock).isNotNull();
            var state = read(reader(Duration.ofMillis(200), PROC));
            assertThat(envs(state).environments()).hasSize(1);
            assertThat(devices(state).devices()).hasSize(1);
            assertThat(state.lockWait()).isGreaterThanOrEqualTo(Duration.ofMillis(200));
            assertThat(state.problems()).singleElement().satisfies(problem -> {
                assertThat(problem.code()).isEqualTo(ProblemCode.LOCK_TIMEOUT);
                assertThat(problem.detail())
                        .contains(
                                "genv.lock is held by another program, for longer than 200 ms",
                                "process %d (".formatted(ProcessHandle.current().pid()),
                                "of uid " + FileCalls.effectiveUid());
            });
        }
        assertThat(envs(read()).environments()).hasSize(1);
        assertThat(read().problems()).isEmpty();
    }

    @Test
    void withoutTheLockMissingFilesAreAbsent() throws Exception {
        Files.createDirectory(path.resolve("genv.lock"));
        assertThat(read().envs()).isInstanceOf(State.File.Absent.class);
        assertThat(read().devices()).isInstanceOf(State.File.Absent.class);
    }

    /** What genv does, and what a holder may do while we read: a file is empty, then half, then whole. */
    @Test
    void withoutTheLockPartialWritesAreNotAccepted() throws Exception {
        var few = new StateFiles(path).env("1", 1000, null, null).envsJson();
        var many = IntStream.range(0, 200)
                .mapToObj(i -> "{\"eid\": \"%d\", \"uid\": 1, \"pids\": []}".formatted(i))
                .collect(Collectors.joining(", ", "{\"envs\": [", "]}"));
        var file = Files.writeString(path.resolve("envs.json"), few);
        Files.createDirectory(path.resolve("genv.lock"));
        try (var writer = new Rewriting(file, List.of(few, many))) {
            for (var observation = 0; observation < 3; observation++) {
                if (read().envs() instanceof State.File.Present<EnvsFile>(var content)) {
                    assertThat(content.environments().size()).isIn(1, 200);
                }
            }
            await().until(() -> writer.rounds() > 0);
        }
        assertThat(envs(read()).environments().size()).isIn(1, 200);
    }

    @Test
    void readsWithoutTheLockWhenTheLockFileIsUnusable() throws Exception {
        new StateFiles(path).env("1", 1000, null, null).device(0).write();
        var lock = path.resolve("genv.lock");
        for (var obstacle : List.<Obstacle>of(
                Files::createDirectory,
                Fifo::at,
                link -> Files.createSymbolicLink(link, path.resolveSibling("elsewhere")),
                link -> Files.createSymbolicLink(link, Path.of("/etc/passwd")))) {
            obstacle.put(lock);
            var state = read();
            assertThat(envs(state).environments()).hasSize(1);
            assertThat(devices(state).devices()).hasSize(1);
            assertThat(state.problems()).extracting(Problem::code).containsExactly(ProblemCode.LOCK_UNUSABLE);
            Files.delete(lock);
        }
        assertThat(read().problems()).isEmpty();
    }

    @Test
    void releasesTheLock() throws Exception {
        new StateFiles(path).env("1", 1000, null, null).write();
        Files.createFile(path.resolve("genv.lock"));
        read();
        try (var directory = requireNonNull(StateDirectory.open(path));
                var lock = GenvLock.acquire(directory, Duration.ZERO, false)) {
            assertThat(lock).isNotNull();
        }
    }

    /** As read_at_once and read_unlocked of the agent do it: what nobody is writing needs no lock, even if it is no valid JSON. */
    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            quoteCharacter = '`',
            value = {
                "{\"envs\": []}                 | true",
                "{'envs': [NaN]}                | true",
                "{\"envs\": [{\"eid\": \"}\\\"]\"}]} | true",
                "{\"envs\": [{\"eid\": \"}]}\"       | false",
                "{\"envs\": [                   | false",
                "{\"envs\": []}]                | false",
                "7                              | false",
            })
    void onlyAFileWhoseObjectsAndTextsEndIsComplete(String content, boolean isComplete) throws Exception {
        Files.writeString(path.resolve("envs.json"), content);
        assertThat(reader.look().lock().outcome()).isEqualTo(isComplete ? Outcome.NOT_ATTEMPTED : Outcome.HELD);
    }

    /** Somebody who writes these texts into a file, one after the other, in place and in two halves, until closed. */
    private static final class Rewriting implements AutoCloseable {
        private final AtomicInteger rounds = new AtomicInteger();
        private final AtomicBoolean stopped = new AtomicBoolean();
        private final CompletableFuture<Void> writing;

        Rewriting(Path file, List<String> texts) {
            writing = CompletableFuture.runAsync(() -> {
                try {
                    while (!stopped.get()) {
                        var text = texts.get(rounds.getAndIncrement() % texts.size());
                        Files.writeString(file, text.substring(0, text.length() / 2));
                        Files.writeString(file, text.substring(text.length() / 2), StandardOpenOption.APPEND);
                    }
                } catch (IOException e) {
                    throw new UncheckedIOException(e);
                }
            });
        }

        int rounds() {
            return rounds.get();
        }

        @Override
        public void close() {
            stopped.set(true);
            writing.join();
        }
    }

    private interface Obstacle {
        void put(Path path) throws Exception;
    }
}
