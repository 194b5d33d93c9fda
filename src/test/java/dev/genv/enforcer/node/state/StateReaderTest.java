package dev.genv.enforcer.node.state;

import static dev.genv.enforcer.testsupport.TestTimeouts.HANG;
import static java.nio.charset.StandardCharsets.ISO_8859_1;
import static java.nio.charset.StandardCharsets.US_ASCII;
import static java.nio.file.StandardCopyOption.ATOMIC_MOVE;
import static java.util.Objects.requireNonNull;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.genv.enforcer.facts.MachineFacts;
import dev.genv.enforcer.format.DevicesFile;
import dev.genv.enforcer.format.EnvsFile;
import dev.genv.enforcer.model.Device;
import dev.genv.enforcer.model.Environment;
import dev.genv.enforcer.model.Problem;
import dev.genv.enforcer.model.ProblemCode;
import dev.genv.enforcer.node.linux.KernelClock;
import dev.genv.enforcer.node.linux.Libc;
import dev.genv.enforcer.node.proc.ProcFs;
import dev.genv.enforcer.observation.state.State;
import dev.genv.enforcer.observation.state.StateParser;
import dev.genv.enforcer.testsupport.FakeProc;
import dev.genv.enforcer.testsupport.Fifo;
import dev.genv.enforcer.testsupport.StateFiles;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.FileTime;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

@Timeout(600)
class StateReaderTest {
    private final Path path;
    private final StateReader reader;
    private final StateParser parser;

    StateReaderTest(@TempDir Path folder) throws IOException {
        path = Files.createDirectory(folder.resolve("genv"));
        parser = new StateParser(path.toString());
        reader = new StateReader(path, Duration.ofMillis(200), new ProcFs(Path.of("/proc")));
    }

    @Test
    void readsBothFiles() throws Exception {
        new StateFiles(path)
                .env("1", 1000, "alice", null, 40)
                .device(0, "1")
                .device(1)
                .write();
        var state = read();
        assertThat(envs(state).environments()).extracting(Environment::eid).containsExactly("1");
        assertThat(devices(state).devices()).extracting(Device::index).containsExactly(0, 1);
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
        assertThat(state).isEqualTo(State.ABSENT.withLockWait(state.lockWait()).changed(state.changedAt()));
        assertThat(path).isEmptyDirectory();
    }

    /** The kernel keeps this time, whatever a user sets the other times of a file to. */
    @Test
    void noUserCanSetBackWhenTheStateWasChanged() throws Exception {
        var prepared = Files.writeString(path.resolveSibling("prepared"), "{}");
        assertThatItWasChangedBy(new StateFiles(path).env("a", 1000, null, null).device(0)::write);
        assertThatItWasChangedBy(() -> Files.setLastModifiedTime(path.resolve("envs.json"), FileTime.fromMillis(0)));
        assertThatItWasChangedBy(() -> Files.move(prepared, path.resolve("devices.json"), ATOMIC_MOVE));
        assertThatItWasChangedBy(() -> Files.delete(path.resolve("envs.json")));
    }

    private interface Change {
        void make() throws Exception;
    }

    private void assertThatItWasChangedBy(Change change) throws Exception {
        var last = requireNonNull(read().changedAt());
        await().atMost(HANG).until(() -> KernelClock.ticks() > last);
        var before = KernelClock.ticks();
        change.make();
        assertThat(read().changedAt()).isBetween(before, KernelClock.ticks() + 1);
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "                        | envs.json is empty",
                "{                       | envs.json is not JSON",
                "{'envs': 7}             | envs.json has no \"envs\"",
            })
    void unreadableFileDoesNotAffectTheOther(String content, String why) throws Exception {
        new StateFiles(path).device(0).write();
        Files.writeString(path.resolve("envs.json"), content == null ? "" : content.replace('\'', '"'));
        assertUnreadable(read().envs(), ProblemCode.STATE_UNREADABLE, why);
        assertThat(devices(read()).devices()).hasSize(1);
    }

    /** Hostile but perfectly valid JSON, and what only looks like it. */
    @ParameterizedTest
    @ValueSource(
            strings = {
                "null",
                "[]",
                "7",
                "\"envs\"",
                "{}",
                "{\"envs\": null}",
                "{\"envs\": \"x\"}",
                "{\"envs\": []} x",
                "{\"envs\": []}{}",
                "{'envs': []}",
                "{\"envs\": [NaN]}",
                "\u0000",
                "\ufeff{\"envs\": []}",
            })
    void unknownFormatIsUnreadable(String content) throws Exception {
        new StateFiles(path).device(0).write();
        Files.writeString(path.resolve("envs.json"), content);
        assertUnreadable(read().envs(), ProblemCode.STATE_UNREADABLE, "envs.json");
        assertThat(devices(read()).devices()).hasSize(1);
    }

    @Test
    void tooDeepTooLargeOrNonUtf8FileIsUnreadable() throws Exception {
        new StateFiles(path).device(0).write();
        var latin = "{\"envs\": [{\"eid\": \"\u00fc\"}]}".getBytes(ISO_8859_1);
        for (var bytes : List.of(
                ("{\"envs\": " + "[".repeat(100_000)).getBytes(US_ASCII),
                ("{\"envs\": " + "[".repeat(1000) + "]".repeat(1000) + "}").getBytes(US_ASCII),
                ("{\"envs\": [" + "7,".repeat(2_000_000) + "7]}").getBytes(US_ASCII),
                ("{\"envs\": [" + "9".repeat(100_000) + "]}").getBytes(US_ASCII),
                new byte[17 << 20],
                latin)) {
            Files.write(path.resolve("envs.json"), bytes);
            assertUnreadable(read().envs(), ProblemCode.STATE_UNREADABLE, "envs.json");
        }
        new StateFiles(path).env("1", 1, null, null).writeEnvs();
        assertThat(envs(read()).environments()).hasSize(1);
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

    @Test
    void linkedFileIsNotRead() throws Exception {
        new StateFiles(path).env("1", 1000, null, null).write();
        var elsewhere = Files.move(path.resolve("devices.json"), path.resolveSibling("elsewhere"));
        Files.createSymbolicLink(path.resolve("devices.json"), elsewhere);
        assertUnreadable(read().devices(), ProblemCode.STATE_UNREADABLE, "devices.json");
        assertThat(envs(read()).environments()).hasSize(1);
    }

    @Test
    void linkOrFileInPlaceOfTheDirectoryIsNotRead() throws Exception {
        var real = Files.move(path, path.resolveSibling("real"));
        new StateFiles(real).env("1", 1000, null, null).write();
        Files.createSymbolicLink(path, real);
        assertUnreadable(read().envs(), ProblemCode.STATE_UNREADABLE, path.toString());
        Files.delete(path);
        Files.createFile(path);
        assertUnreadable(read().devices(), ProblemCode.STATE_UNREADABLE, path.toString());
    }

    /** So nobody escapes by holding the lock. */
    @Test
    void readsWithoutTheLockAfterTimeoutAndNamesTheHolder() throws Exception {
        new StateFiles(path).env("1", 1000, null, null).device(0).write();
        try (var directory = requireNonNull(StateDirectory.open(path));
                var lock = directory.lock(Duration.ofSeconds(1), true)) {
            assertThat(lock).isNotNull();
            var state = read();
            assertThat(envs(state).environments()).hasSize(1);
            assertThat(devices(state).devices()).hasSize(1);
            assertThat(state.lockWait()).isGreaterThanOrEqualTo(Duration.ofMillis(200));
            assertThat(state.problems()).singleElement().satisfies(problem -> {
                assertThat(problem.code()).isEqualTo(ProblemCode.LOCK_TIMEOUT);
                assertThat(problem.detail())
                        .contains(
                                "genv.lock is held by another program, for longer than 200 ms",
                                "process %d (".formatted(ProcessHandle.current().pid()),
                                "of uid " + Libc.effectiveUid());
            });
        }
        assertThat(envs(read()).environments()).hasSize(1);
        assertThat(read().problems()).isEmpty();
    }

    @Test
    void withoutTheLockUnreadableFileDoesNotAffectTheOther() throws Exception {
        new StateFiles(path).env("1", 1000, null, null).device(0).write();
        Files.createDirectory(path.resolve("genv.lock"));
        Files.writeString(path.resolve("envs.json"), "{\"envs\": [");
        var state = read();
        assertUnreadable(state.envs(), ProblemCode.STATE_UNREADABLE, "envs.json is not JSON");
        assertThat(devices(state).devices()).hasSize(1);
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
            assertThat(writer.rounds()).isPositive();
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
    void replacedOrMissingDirectoryIsReported() throws Exception {
        new StateFiles(path).env("1", 1000, null, null).write();
        assertThat(read().problems()).isEmpty();
        Files.move(path, path.resolveSibling("moved"));
        for (var observation = 0; observation < 2; observation++) {
            assertThat(read().problems())
                    .extracting(Problem::code)
                    .containsExactly(ProblemCode.STATE_DIRECTORY_REPLACED);
        }
        new StateFiles(path).env("2", 1000, null, null).write();
        var state = read();
        assertThat(state.problems()).extracting(Problem::code).containsExactly(ProblemCode.STATE_DIRECTORY_REPLACED);
        assertThat(envs(state).environments()).extracting(Environment::eid).containsExactly("2");
        assertThat(read().problems()).isEmpty();
    }

    /** Otherwise a process that was started before the removal would get no grace. */
    @Test
    void removedDirectoryCountsAsChangedAtEachObservation() throws Exception {
        new StateFiles(path).env("1", 1000, null, null).write();
        read();
        Files.move(path, path.resolveSibling("moved"));
        for (var observation = 0; observation < 2; observation++) {
            var before = KernelClock.ticks();
            assertThat(read().changedAt()).isBetween(before, KernelClock.ticks());
        }
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
        var contained = new StateReader(path, Duration.ofSeconds(1), new ProcFs(folder));
        assertThat(envs(read(contained)).environments()).hasSize(1);
        Files.delete(onHost);
        assertUnreadable(read(contained).envs(), ProblemCode.STATE_DIRECTORY_MOVED, "/data/genv");
        assertUnreadable(read(contained).devices(), ProblemCode.STATE_DIRECTORY_MOVED, "recreate the container");
        Files.createSymbolicLink(onHost, path.toRealPath().getParent());
        assertThat(envs(read(contained)).environments()).hasSize(1);
    }

    @Test
    void releasesTheLock() throws Exception {
        new StateFiles(path).env("1", 1000, null, null).write();
        Files.createFile(path.resolve("genv.lock"));
        read();
        try (var directory = requireNonNull(StateDirectory.open(path));
                var lock = directory.lock(Duration.ZERO, false)) {
            assertThat(lock).isNotNull();
        }
    }

    private State read() throws InterruptedException {
        return read(reader);
    }

    private State read(StateReader from) throws InterruptedException {
        return parser.parse(from.read(), new MachineFacts("", "", "", 0, 0));
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

    private interface Obstacle {
        void put(Path path) throws Exception;
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
}
