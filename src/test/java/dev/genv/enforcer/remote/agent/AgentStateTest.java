package dev.genv.enforcer.remote.agent;

import static dev.genv.enforcer.testsupport.TestTimeouts.HANG;
import static java.util.Objects.requireNonNull;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.genv.enforcer.model.Environment;
import dev.genv.enforcer.model.Problem;
import dev.genv.enforcer.model.ProblemCode;
import dev.genv.enforcer.model.SnapshotPart;
import dev.genv.enforcer.observation.Observation;
import dev.genv.enforcer.testsupport.Child;
import dev.genv.enforcer.testsupport.CurrentProcess;
import dev.genv.enforcer.testsupport.Fifo;
import dev.genv.enforcer.testsupport.RealFlock;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.attribute.FileTime;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import java.util.List;
import java.util.Set;
import java.util.concurrent.Callable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** A state directory in which others do what they like. */
@Timeout(600)
class AgentStateTest {
    private static final Duration SHORT_TIMEOUT = Duration.ofMillis(300);
    private final Path folder;
    private final Machine machine;
    private final Machine.AgentHost agent;
    private final Path envs;
    private final Path devices;
    private final Path lock;
    private final Child child = Child.inEnvironment("15971");

    AgentStateTest(@TempDir Path folder) throws IOException {
        this.folder = folder;
        machine = new Machine(folder).lockTimeout(SHORT_TIMEOUT);
        agent = machine.agent();
        envs = machine.state.resolve("envs.json");
        devices = machine.state.resolve("devices.json");
        lock = machine.state.resolve("genv.lock");
    }

    @BeforeEach
    void writeState() throws IOException {
        machine.writeOneEnvironment(child);
    }

    @AfterEach
    void endChild() {
        child.close();
    }

    @Test
    void readsUnderGenvsLock() throws Exception {
        assertComplete(observe());
        assertThat(observe().lockWait()).isNotNull();
    }

    @Test
    void readsAgainAfterTheLockFileWasReplaced() throws Exception {
        assertComplete(observe());
        Files.delete(lock);
        Files.createFile(lock);
        assertComplete(observe());
        Files.delete(lock);
        assertComplete(observe());
        assertThat(lock).doesNotExist();
    }

    @Test
    void namesTheHolderOfTheLockAndReadsWithoutIt() throws Exception {
        try (var _ = RealFlock.take(lock)) {
            var observation = observe();
            assertThat(observation.snapshot().environments()).hasSize(1);
            assertThat(observation.snapshot().missing()).isEmpty();
            assertThat(problem(observation))
                    .isEqualTo(new Problem(
                            ProblemCode.LOCK_TIMEOUT,
                            "genv.lock is held by another program, for longer than 300 ms: process %d (java) of uid %d. The state is read without it; nothing can be detached"
                                    .formatted(ProcessHandle.current().pid(), CurrentProcess.uid())));
        }
        assertComplete(observe());
    }

    @Test
    void auditModeChangesNothingAndDoesNotWait() throws Exception {
        var auditing = machine.auditOnly().agent();
        var written = Files.getLastModifiedTime(machine.state);
        try (var _ = RealFlock.take(lock)) {
            assertComplete(auditing.observe(machine.python, Set.of()));
        }
        assertThat(Files.getLastModifiedTime(machine.state)).isEqualTo(written);
        assertThat(lock).isEmptyFile();
    }

    @Test
    void reportsLockThatIsNotARegularFile() throws Exception {
        var target = Files.createFile(folder.resolve("target"));
        Files.delete(lock);
        Files.createSymbolicLink(lock, target);
        assertUnusableLock("is not a regular file");
        Files.delete(lock);
        Files.createSymbolicLink(lock, folder.resolve("nowhere"));
        assertUnusableLock("is not a regular file");
        assertThat(folder.resolve("nowhere")).doesNotExist();
        Files.delete(lock);
        Fifo.at(lock);
        assertUnusableLock("is not a regular file");
        Files.delete(lock);
        Files.createDirectory(lock);
        assertUnusableLock("is not a regular file");
        Files.delete(lock);
        Files.createFile(lock);
        assertComplete(observe());
    }

    private void assertUnusableLock(String why) throws Exception {
        var observation = observe();
        assertThat(observation.snapshot().environments()).hasSize(1);
        assertThat(problem(observation))
                .isEqualTo(new Problem(
                        ProblemCode.LOCK_UNUSABLE,
                        "genv.lock %s. The state is read without it; nothing can be detached".formatted(why)));
    }

    @Test
    void doesNotReadWhatIsNotARegularFile() throws Exception {
        for (var file : List.of(envs, devices)) {
            var content = Files.readString(file);
            Files.delete(file);
            Files.createSymbolicLink(file, Path.of("/etc/passwd"));
            assertUnreadable(file, "is a symbolic link");
            Files.delete(file);
            Files.createSymbolicLink(file, folder.resolve("nowhere"));
            assertUnreadable(file, "is a symbolic link");
            Files.delete(file);
            Fifo.at(file);
            assertUnreadable(file, "is not a regular file");
            Files.delete(file);
            Files.createDirectory(file);
            assertUnreadable(file, "is not a regular file");
            Files.delete(file);
            Files.write(file, new byte[(3 << 20) + 1]);
            assertUnreadable(file, "is larger than 3145728 bytes");
            Files.writeString(file, content);
            Files.setPosixFilePermissions(file, PosixFilePermissions.fromString("rw-------"));
            Files.createLink(folder.resolve("secret"), file);
            assertUnreadable(file, "is closed to other users and has 2 names (hard links): replace it by a copy");
            Files.delete(folder.resolve("secret"));
            assertComplete(observe());
        }
    }

    private void assertUnreadable(Path file, String why) throws Exception {
        var observation = observe();
        var part = file.equals(envs) ? SnapshotPart.ENVIRONMENTS : SnapshotPart.ATTACHMENTS;
        assertThat(observation.snapshot().missing()).as(why).containsExactly(part);
        assertThat(problem(observation))
                .isEqualTo(new Problem(ProblemCode.STATE_UNREADABLE, file.getFileName() + ": " + why));
    }

    @Test
    void readsFilesOfTheMaximumSize() throws Exception {
        for (var file : List.of(envs, devices)) {
            var content = Files.readString(file);
            Files.writeString(file, content + " ".repeat((3 << 20) - content.length()));
        }
        assertComplete(observe());
    }

    @Test
    void reportsInvalidState() throws Exception {
        var name = "@" + "0".repeat(32) + " {} 0";
        for (var content : List.of("", "{", "\0\0\0", name + "\n" + name, "\u00ff", "[]", "{\"envs\": 1}")) {
            Files.write(envs, content.getBytes(StandardCharsets.ISO_8859_1));
            var observation = observe();
            assertThat(observation.snapshot().missing()).as(content).contains(SnapshotPart.ENVIRONMENTS);
            assertThat(observation.snapshot().problems())
                    .extracting(Problem::code)
                    .contains(ProblemCode.STATE_UNREADABLE);
        }
    }

    @Test
    void acceptsAnyCharacterInStateFiles() throws Exception {
        var eid = "\n@0 {} 0\n' \" \\ $(touch " + folder + "/pwned) `id`\u00e4\u2028";
        try (var other = Child.inEnvironment(eid)) {
            machine.nvidiaSmi.process(0, other.pid(), "1");
            machine.files()
                    .env(
                            eid,
                            CurrentProcess.uid(),
                            null,
                            null,
                            List.of(other.pid()),
                            List.of(eid, "$(touch " + folder + "/pwned)"))
                    .device(0, eid)
                    .device(1)
                    .write();
            var snapshot = observe().snapshot();
            assertThat(snapshot.environments()).extracting(Environment::eid).containsExactly(eid);
            assertThat(snapshot.processes()).singleElement().matches(process -> process.names(eid));
            assertThat(snapshot.missing()).isEmpty();
            assertThat(folder.resolve("pwned")).doesNotExist();
        }
    }

    @Test
    void reportsStatePathThatIsNoDirectory() throws Exception {
        var elsewhere = folder.resolve("elsewhere");
        Files.move(machine.state, elsewhere);
        assertThat(observe().snapshot().problems())
                .doesNotContain(
                        new Problem(ProblemCode.STATE_DIRECTORY_REPLACED, "")); // never seen before: a fresh machine
        Files.createSymbolicLink(machine.state, elsewhere);
        assertUnreadableDirectory("is a symbolic link");
        Files.delete(machine.state);
        Files.createFile(machine.state);
        assertUnreadableDirectory("is not a directory");
        Files.delete(machine.state);
        Files.move(elsewhere, machine.state);
        assertComplete(observe());
    }

    /** Otherwise a process that was started before the removal would get no grace. */
    @Test
    void removedDirectoryCountsAsChangedAtEachObservation() throws Exception {
        var elsewhere = folder.resolve("elsewhere");
        Files.move(machine.state, elsewhere);
        assertThat(observe().stateChangedAt()).isNull();
        Files.move(elsewhere, machine.state);
        assertComplete(observe());
        Files.move(machine.state, elsewhere);
        for (var observation = 0; observation < 2; observation++) {
            var observed = observe();
            assertThat(observed.stateChangedAt()).isEqualTo(observed.ticks());
        }
    }

    private void assertUnreadableDirectory(String why) throws Exception {
        var observation = observe();
        assertThat(observation.snapshot().missing())
                .containsExactlyInAnyOrder(SnapshotPart.ENVIRONMENTS, SnapshotPart.ATTACHMENTS);
        assertThat(problem(observation))
                .isEqualTo(new Problem(ProblemCode.STATE_UNREADABLE, machine.state + ": " + why));
    }

    /** Nothing in it is touched: it need not answer, and a command that waits for it cannot be ended. */
    @Test
    void doesNotReadFileSystemMountedByAUser() throws Exception {
        var proc = machine.useFakeProc(folder.resolve("proc"));
        assertThat(problems(machine.observe())).isEmpty();
        for (var point : List.of(machine.state.toString(), machine.state + "/envs.json")) {
            proc.mounts(
                    "self",
                    "22 1 254:0 / / rw,relatime - ext4 /dev/root rw,user_id=7",
                    "63 22 0:39 / %s rw,relatime - fuse.sshfs x:/user_id=0 rw,user_id=61002,group_id=7"
                            .formatted(point));
            var observation = machine.observe();
            assertThat(problem(observation).code()).isEqualTo(ProblemCode.STATE_USER_MOUNT);
            assertThat(problem(observation).detail())
                    .contains("user 61002 has mounted a file system of the type fuse.sshfs on " + point + ":");
            assertThat(observation.snapshot().missing())
                    .containsExactlyInAnyOrder(SnapshotPart.ENVIRONMENTS, SnapshotPart.ATTACHMENTS);
            assertThat(observation.missingPrivileges()).isEmpty();
        }
        proc.mounts(
                "self",
                "63 22 0:39 / %s rw,relatime - fuse.glusterfs x rw,user_id=0,group_id=0".formatted(machine.state),
                "64 22 0:40 / %s2 rw,relatime - fuse.sshfs x rw,user_id=61002,group_id=0".formatted(machine.state));
        assertThat(problems(machine.observe())).isEmpty();
    }

    @Test
    void reportsReplacedStateDirectory() throws Exception {
        assertComplete(observe());
        var elsewhere = folder.resolve("elsewhere");
        Files.move(machine.state, elsewhere);
        assertThat(problem(observe()).detail())
                .isEqualTo(machine.state + " existed at an earlier observation and is gone");
        assertThat(problem(observe()).code()).isEqualTo(ProblemCode.STATE_DIRECTORY_REPLACED);
        Files.createDirectory(machine.state);
        assertThat(problem(observe()).detail()).contains("is another directory than at the previous observation");
        assertThat(problems(observe())).isEmpty();
    }

    @Test
    void isReadOnlyWhenTheMachineRunsAnEnforcer() throws Exception {
        var inode = Files.getAttribute(machine.state, "unix:ino");
        var mark = machine.state.resolve(".genv-enforcer.lock");
        Files.writeString(mark, "genv-enforcer of directory %s\n".formatted(inode));
        Files.setPosixFilePermissions(mark, PosixFilePermissions.fromString("rw-------"));
        assertComplete(observe());
        var expected = "another enforcer (process %d) acts on this state directory"
                .formatted(ProcessHandle.current().pid());
        try (var _ = RealFlock.take(mark)) {
            var observation = observe();
            assertThat(observation.readOnlyReason()).isEqualTo(expected);
            assertThat(problem(observation))
                    .isEqualTo(new Problem(ProblemCode.SECOND_ENFORCER, expected + ": this one only observes"));
            assertThat(machine.auditOnly().observe().readOnlyReason()).isNull();
        }
        assertComplete(observe());
    }

    /** It could be anybody's, or one of another directory that somebody moved here. */
    @Test
    void ignoresInvalidEnforcerLock() throws Exception {
        var inode = Files.getAttribute(machine.state, "unix:ino");
        var mark = machine.state.resolve(".genv-enforcer.lock");
        var right = "genv-enforcer of directory %s\n".formatted(inode);
        Files.writeString(mark, right.replace("directory ", "directory 1"));
        Files.setPosixFilePermissions(mark, PosixFilePermissions.fromString("rw-------"));
        try (var _ = RealFlock.take(mark)) {
            assertComplete(observe());
            Files.writeString(mark, right);
            assertThat(observe().readOnlyReason()).isNotNull();
            Files.setPosixFilePermissions(mark, PosixFilePermissions.fromString("rw-rw----"));
            assertComplete(observe());
            Files.setPosixFilePermissions(mark, PosixFilePermissions.fromString("rw-------"));
            Files.createLink(folder.resolve("other"), mark);
            assertComplete(observe());
            Files.delete(folder.resolve("other"));
            if (CurrentProcess.isRoot()) {
                Files.setAttribute(mark, "unix:uid", 65534);
                assertComplete(observe());
            }
        }
    }

    /** The kernel keeps this time, whatever a user sets the other times of a file to. */
    @Test
    void reportsAChangeTimeThatNoUserCanSetBack() throws Exception {
        var prepared = Files.writeString(folder.resolve("prepared"), Files.readString(devices));
        assertChangeTimeIsUpdatedBy(() -> Files.writeString(devices, Files.readString(devices)));
        assertChangeTimeIsUpdatedBy(() -> Files.setLastModifiedTime(devices, FileTime.fromMillis(0)));
        assertChangeTimeIsUpdatedBy(() -> Files.move(prepared, devices, StandardCopyOption.ATOMIC_MOVE));
        assertChangeTimeIsUpdatedBy(() -> Files.deleteIfExists(devices));
    }

    private void assertChangeTimeIsUpdatedBy(Callable<?> change) throws Exception {
        var last = requireNonNull(observe().stateChangedAt());
        await().atMost(HANG).until(() -> ticks() > last);
        var before = ticks();
        change.call();
        assertThat(observe().stateChangedAt()).isBetween(before, ticks() + 200);
    }

    private static long ticks() throws IOException {
        return Math.round(100
                * Double.parseDouble(Files.readString(Path.of("/proc/uptime")).split(" ", 2)[0]));
    }

    /** What is written in place and not yet finished is not believed, where the lock cannot be had. */
    @Test
    void readsOnlyUnchangingFilesWithoutTheLock() throws Exception {
        var writer = Thread.ofPlatform().start(() -> {
            while (!Thread.currentThread().isInterrupted()) {
                try {
                    var next = Files.writeString(folder.resolve("next"), Files.readString(devices));
                    Files.move(next, devices, StandardCopyOption.ATOMIC_MOVE);
                } catch (IOException e) {
                    return;
                }
            }
        });
        try (var _ = RealFlock.take(lock)) {
            var observation = observe();
            assertThat(observation.snapshot().missing()).containsExactly(SnapshotPart.ATTACHMENTS);
            assertThat(observation.snapshot().problems())
                    .contains(new Problem(
                            ProblemCode.STATE_UNREADABLE,
                            "devices.json: changes while it is read without genv's lock"));
            assertThat(observation.snapshot().environments()).hasSize(1);
        } finally {
            writer.interrupt();
            writer.join();
        }
    }

    private Observation observe() throws Exception {
        return agent.observe(machine.python, Set.of());
    }

    private static Problem problem(Observation observation) {
        assertThat(problems(observation)).hasSize(1);
        return problems(observation).getFirst();
    }

    private static void assertComplete(Observation observation) {
        assertThat(problems(observation)).isEmpty();
        assertThat(observation.snapshot().missing()).isEmpty();
        assertThat(observation.snapshot().environments()).hasSize(1);
        assertThat(observation.readOnlyReason()).isNull();
    }

    private static List<Problem> problems(Observation observation) {
        return observation.snapshot().problems().stream()
                .filter(problem -> !problem.code().equals(ProblemCode.MISSING_PRIVILEGE))
                .toList();
    }
}
