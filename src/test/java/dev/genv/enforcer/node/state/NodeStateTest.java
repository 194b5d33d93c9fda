package dev.genv.enforcer.node.state;

import static dev.genv.enforcer.testsupport.TestTimeouts.HANG;
import static java.nio.file.StandardCopyOption.ATOMIC_MOVE;
import static java.util.Objects.requireNonNull;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import dev.genv.enforcer.host.Machine.SwapResult;
import dev.genv.enforcer.host.StateFacts;
import dev.genv.enforcer.host.StateFacts.LockFacts.Outcome;
import dev.genv.enforcer.host.StateFacts.StateFile;
import dev.genv.enforcer.model.Device.Attachment;
import dev.genv.enforcer.model.Sha256;
import dev.genv.enforcer.node.proc.ProcFs;
import dev.genv.enforcer.node.state.GenvLock.LockHolders;
import dev.genv.enforcer.node.state.StateDirectory.Condition;
import dev.genv.enforcer.observation.StateParser;
import dev.genv.enforcer.testsupport.Requirements;
import dev.genv.enforcer.testsupport.fake.FakeProc;
import dev.genv.enforcer.testsupport.linux.Programs;
import dev.genv.enforcer.testsupport.linux.RealFlock;
import dev.genv.enforcer.testsupport.state.StateFiles;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Future;
import java.util.concurrent.FutureTask;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

@Timeout(600)
class NodeStateTest {
    private static final Path PROC = Path.of("/proc");

    private final Path path;
    private final NodeState reader;
    private final List<StateDirectory> open = new ArrayList<>();

    NodeStateTest(@TempDir Path folder) throws IOException {
        path = Files.createDirectory(folder.resolve("genv"));
        reader = reader(PROC);
    }

    @AfterEach
    void close() throws IOException {
        for (var directory : open) {
            directory.close();
        }
    }

    private NodeState reader(Path root) {
        return new NodeState(path, HANG, new ProcFs(root));
    }

    @Test
    void observationOfAnEmptyDirectoryCreatesNothing() throws Exception {
        reader.read(Duration.ZERO);
        assertThat(path).isEmptyDirectory();
    }

    @Test
    void directoryMovedOnTheHostIsNotRead(@TempDir Path folder) throws Exception {
        files().env("1", 1000, null, null).device(0).write();
        var fake = new FakeProc(folder);
        fake.mountNamespace("self", 2).mountNamespace("1", 1);
        fake.mounts("self", "36 22 98:0 /genv %s rw - ext4 /dev/sda rw".formatted(path.toRealPath()));
        fake.mounts("1", "24 22 98:0 / /data rw - ext4 /dev/sda rw");
        var onHost = Files.createDirectories(folder.resolve("1/root")).resolve("data");
        var contained = reader(folder);
        for (var i = 0; i < 2; i++) {
            Files.createSymbolicLink(onHost, path.toRealPath().getParent());
            assertThat(contained.read(Duration.ZERO).envs()).isInstanceOf(StateFile.Present.class);
            Files.delete(onHost);
            var moved = contained.read(Duration.ZERO);
            assertThat(moved.directory()).isEqualTo(new StateFacts.Directory.Stale("/data/genv"));
            assertThat(List.of(moved.envs(), moved.devices())).containsOnly(new StateFile.Absent());
        }
    }

    /** Docker and Kubernetes create a missing directory closed to other users. The commands run in the folder of the state directory. */
    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "true                            | 777  | its mode is now 0777",
                "touch genv/.genv-enforcer.lock  | 777  | its mode is now 0777",
                "touch genv/envs.json            | 755  |",
                "chown 65534 genv                | 755  |",
                "chmod 777 genv                  | 777  |",
                "chmod 1777 genv                 | 1777 |",
                "rmdir genv                      |      |",
                "mv genv real && ln -s real genv | 755  | cannot be prepared",
            })
    void opensAnEmptyDirectoryOfRootThatIsClosedToOthers(String commands, @Nullable String mode, @Nullable String said)
            throws Exception {
        Requirements.root();
        Programs.shell(path.getParent(), "chmod 755 genv && " + commands);
        var message = reader.openToAll();
        if (said == null) {
            assertThat(message).isEmpty();
        } else {
            assertThat(message).hasValueSatisfying(text -> assertThat(text).contains(path.toString(), said));
        }
        if (mode == null) {
            assertThat(path).doesNotExist();
        } else {
            assertThat((int) Files.getAttribute(path, "unix:mode") & 07777).isEqualTo(Integer.parseInt(mode, 8));
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

    // The open directory.

    /** Where users may link to files that they cannot read, this is how they would have root read them. */
    @Test
    void refusesHardLinkToAPrivateFile() throws IOException {
        var directory = open();
        var secret = Files.writeString(path.resolveSibling("secret"), "secret");
        Files.createLink(path.resolve("envs.json"), secret);
        assertThat(content(directory))
                .as("what everybody may read is no secret, and a link to it must not blind us")
                .isNotNull();
        Files.setPosixFilePermissions(secret, PosixFilePermissions.fromString("rw-rw----"));
        assertThat(StateParser.clause((StateFile.Unreadable) directory.read("envs.json")))
                .contains("has 2 names (hard links)");
        Files.delete(secret);
        assertThat(content(directory)).isEqualTo("secret");
    }

    @Test
    void listsABoundedNumberOfNames() throws IOException {
        for (var i = 0; i < 12_000; i++) {
            Files.createFile(path.resolve("f" + i));
        }
        assertThat(open().names()).hasSize(10_000).doesNotHaveDuplicates();
    }

    /** It stays the directory that was opened, wherever its path leads meanwhile. */
    @Test
    void readsFromTheOpenedDirectoryAfterItWasReplaced() throws IOException {
        var directory = open();
        Files.writeString(path.resolve("envs.json"), "mine");
        Files.move(path, path.resolveSibling("moved"));
        Files.writeString(Files.createDirectory(path).resolve("envs.json"), "a stranger's");
        assertThat(content(directory)).isEqualTo("mine");
        assertThat(directory.names()).containsExactly("envs.json");
    }

    private StateDirectory open() throws IOException {
        var directory = requireNonNull(StateDirectory.open(path));
        open.add(directory);
        return directory;
    }

    private static @Nullable String content(StateDirectory directory) {
        return directory.read("envs.json") instanceof StateFile.Present(var content) ? content.text() : null;
    }

    // What others change directly before the replacement, and the temporary files of a killed run.

    private static final Attachment MINE = new Attachment("mine", "4g", "20/11/2026 10:00:00");
    private static final Duration LOCK_LIMIT = Duration.ofSeconds(1);

    @Test
    void removesOnlyTempFilesUnderTheLock() throws Exception {
        var others = List.of(
                ".devices.json.genv-enforcer-0123456789ABCDEF",
                ".devices.json.genv-enforcer-0123456789abcde",
                ".devices.json.genv-enforcer-0123456789abcdef0",
                ".envs.json.genv-enforcer-0123456789abcdef",
                "x.devices.json.genv-enforcer-0123456789abcdef",
                ".devices.json.swp");
        for (var name : others) {
            Files.createFile(path.resolve(name));
        }
        assertThat(swapper().removeLeftovers()).isEmpty();
        assertThat(path.resolve("genv.lock")).doesNotExist();
        var precious = Files.writeString(path.resolveSibling("precious"), "precious");
        Files.createSymbolicLink(path.resolve(".devices.json.genv-enforcer-0000000000000000"), precious);
        var directory = Files.createDirectory(path.resolve(".devices.json.genv-enforcer-1111111111111111"));
        try (var lock = new GenvLock(open(), LOCK_LIMIT, true)) {
            assertThat(lock.take()).isTrue();
            assertThatThrownBy(swapper()::removeLeftovers)
                    .isInstanceOf(IOException.class)
                    .hasMessageContaining("genv.lock is held");
        }
        assertThat(swapper().removeLeftovers()).containsExactly(".devices.json.genv-enforcer-0000000000000000");
        assertThat(precious).hasContent("precious");
        assertThat(directory).isDirectory();
        assertThat(others).allSatisfy(name -> assertThat(path.resolve(name)).exists());
    }

    /** What others write without the lock must not be lost. */
    @Test
    void changeDirectlyBeforeTheReplacementPreventsIt() throws Exception {
        files().device(0, MINE).write();
        var file = path.resolve("devices.json");
        for (var other : List.<Change>of(
                () -> Files.setLastModifiedTime(file, FileTime.fromMillis(0)),
                () -> files().device(0, MINE).write(),
                () -> Files.delete(path.resolve("genv.lock")),
                () -> Thread.currentThread().interrupt())) {
            assertThat(swap(() -> {
                        other.happens();
                        return true;
                    }))
                    .isEqualTo(new SwapResult.Disturbed());
            Thread.interrupted();
            assertThat(file).hasContent(files().device(0, MINE).devicesJson());
        }
        assertThat(path.toFile().list()).containsExactlyInAnyOrder("envs.json", "devices.json", "genv.lock");
    }

    @Test
    void holdsTheLockDuringTheReplacement() throws Exception {
        files().device(0, MINE).write();
        assertThat(swap(() -> {
                    // It exits with 0 only if the lock is held.
                    Programs.run("flock", "-n", "-E", "0", genvLock().toString(), "false");
                    return true;
                }))
                .isEqualTo(new SwapResult.Done());
    }

    private interface Change {
        void happens() throws IOException;
    }

    private SwapResult swap(Condition condition) throws Exception {
        var digest = Sha256.hex(Files.readAllBytes(path.resolve("devices.json")));
        return swapper().swap(digest, "{}".getBytes(StandardCharsets.US_ASCII), condition);
    }

    private NodeState swapper() {
        return new NodeState(path, LOCK_LIMIT, new ProcFs(PROC));
    }

    private StateFiles files() {
        return new StateFiles(path);
    }

    // genv.lock

    private static final Duration SHORT = Duration.ofMillis(200);
    private static final LockHolders HOLDERS = new LockHolders(new ProcFs(PROC));

    @Test
    void waitsNoLongerThanTheTimeout() throws Exception {
        try (var lock = taken()) {
            var start = System.nanoTime();
            for (var create : new boolean[] {true, false}) {
                assertTimesOut(new GenvLock(open(), SHORT, create));
            }
            assertThat(Duration.ofNanos(System.nanoTime() - start)).isGreaterThanOrEqualTo(SHORT.multipliedBy(2));
            assertThat(lock.isInPlace()).isTrue();
        }
        taken().close();
    }

    /** A lock on a file that is no longer there excludes nobody, and nobody waits for its holder. */
    @ParameterizedTest
    @CsvSource({"true, true", "true, false", "false, true", "false, false"})
    void waitsForTheFileThatIsTheLockFileNow(boolean isReplaced, boolean isReleased) throws Exception {
        var held = taken();
        var waiting = startWaiting();
        if (isReplaced) {
            Files.move(Files.createFile(genvLock().resolveSibling("new")), genvLock(), ATOMIC_MOVE);
        } else {
            Files.delete(genvLock());
        }
        if (isReleased) {
            held.close();
        }
        try (var _ = waiting.get()) {
            assertThat(genvLock()).isRegularFile();
            assertTimesOut(new GenvLock(open(), SHORT, true));
        }
        held.close();
    }

    /** As GenvLock of the agent does it. */
    @Test
    void waitsForTheEndOfALeaseOfTheLockFile() throws Exception {
        var lease = RealFlock.takeLease(Files.createFile(genvLock()));
        try (var lock = new GenvLock(open(), SHORT, true)) {
            assertThat(lock.take()).isFalse();
            assertThat(lock.failure())
                    .hasMessage("genv.lock is kept from being opened by its owner (fcntl F_SETLEASE)");
            assertThat(lock.facts(HOLDERS, SHORT).outcome()).isEqualTo(Outcome.UNUSABLE);
        }
        var waiting = startWaiting();
        lease.close();
        waiting.get().close();
    }

    private Path genvLock() {
        return path.resolve("genv.lock");
    }

    private GenvLock taken() throws IOException, InterruptedException {
        var lock = new GenvLock(open(), HANG, true);
        assertThat(lock.take()).isTrue();
        return lock;
    }

    private static void assertTimesOut(GenvLock lock) throws IOException, InterruptedException {
        try (lock) {
            assertThat(lock.take()).isFalse();
            assertThat(lock.failure()).hasMessageContaining("for longer than 200 ms");
            assertThat(lock.facts(HOLDERS, SHORT).outcome()).isEqualTo(Outcome.TIMEOUT);
        }
    }

    /** Has another thread wait for the lock, and returns after its first attempt. */
    private Future<GenvLock> startWaiting() {
        var task = new FutureTask<>(this::taken);
        var thread = Thread.ofVirtual().start(task);
        await().until(() -> thread.getState() == Thread.State.TIMED_WAITING);
        return task;
    }
}
