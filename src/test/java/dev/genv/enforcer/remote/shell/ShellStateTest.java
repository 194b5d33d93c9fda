package dev.genv.enforcer.remote.shell;

import static dev.genv.enforcer.testsupport.TestTimeouts.HANG;
import static java.util.Objects.requireNonNull;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.genv.enforcer.enforcement.Host;
import dev.genv.enforcer.model.Environment;
import dev.genv.enforcer.model.Part;
import dev.genv.enforcer.model.Problem;
import dev.genv.enforcer.testsupport.Child;
import dev.genv.enforcer.testsupport.Fifo;
import dev.genv.enforcer.testsupport.Myself;
import dev.genv.enforcer.testsupport.RealFlock;
import dev.genv.enforcer.testsupport.Requirements;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.attribute.FileTime;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import java.util.List;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.concurrent.locks.LockSupport;
import java.util.stream.Stream;
import java.util.stream.StreamSupport;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedClass;
import org.junit.jupiter.params.provider.MethodSource;

/** A state directory in which others do what they like. */
@Timeout(600)
@ParameterizedClass
@MethodSource("shells")
class ShellStateTest {
    private static final Duration SHORT = Duration.ofMillis(300);
    private final Path folder;
    private final Machine machine;
    private final ShellAgent agent;
    private final Path envs;
    private final Path devices;
    private final Path lock;
    private final Path own;
    private final Child child = Child.inEnvironment("15971");

    ShellStateTest(String shell, @TempDir Path folder) throws IOException {
        this.folder = folder;
        machine = new Machine(folder, shell).lockTimeout(SHORT);
        agent = machine.agent();
        envs = machine.state.resolve("envs.json");
        devices = machine.state.resolve("devices.json");
        lock = machine.state.resolve("genv.lock");
        own = machine.state.resolve(ShellAgent.FOLDER);
    }

    static Stream<String> shells() {
        return OneShell.some();
    }

    @BeforeEach
    void write() throws IOException {
        machine.hasOneEnvironment(child);
    }

    @AfterEach
    void end() {
        child.close();
    }

    @Test
    void isReadUnderGenvsLock() throws Exception {
        assertFine(look());
        assertOurs();
        assertFine(look());
        assertOurs();
    }

    @Test
    void aLockThatWasReplacedIsLinkedAnew() throws Exception {
        assertFine(look());
        Files.delete(lock);
        Files.createFile(lock);
        assertFine(look());
        Files.delete(lock);
        assertFine(look());
        assertThat(lock).doesNotExist();
        assertOurs();
    }

    @Test
    void whoHoldsTheLockIsNamedAndDoesNotEscape() throws Exception {
        try (var _ = RealFlock.take(lock)) {
            var look = look();
            assertThat(look.snapshot().environments()).hasSize(1);
            assertThat(look.snapshot().missing()).isEmpty();
            assertThat(problem(look))
                    .isEqualTo(new Problem(
                            "lock_timeout",
                            "genv.lock is held by another program, for longer than 0.30 s: process %d (java) of uid %d. The state is read without it; nothing can be detached"
                                    .formatted(ProcessHandle.current().pid(), Myself.uid())));
        }
        assertFine(look());
    }

    @Test
    void whereNothingIsDoneNothingIsTouchedAndNobodyIsWaitedFor() throws Exception {
        var auditing = machine.audits().agent();
        var written = Files.getLastModifiedTime(machine.state);
        try (var _ = RealFlock.take(lock)) {
            assertFine(auditing.look(machine.shell, Set.of()));
        }
        assertThat(own).doesNotExist();
        assertThat(Files.getLastModifiedTime(machine.state)).isEqualTo(written);
        assertThat(lock).isEmptyFile();
    }

    @Test
    void aLockThatIsNoneIsToldAndNotFollowed() throws Exception {
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
        assertUnusableLock("cannot be linked");
        Files.delete(lock);
        Files.createFile(lock);
        assertFine(look());
    }

    private void assertUnusableLock(String why) throws Exception {
        var look = look();
        assertThat(look.snapshot().environments()).hasSize(1);
        assertThat(problem(look))
                .isEqualTo(new Problem(
                        "lock_unusable",
                        "genv.lock %s. The state is read without it; nothing can be detached".formatted(why)));
    }

    @Test
    void whatIsNoFileIsNotRead() throws Exception {
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
            assertUnreadable(file, "is closed to others and has 2 names (hard links): put a copy in its place");
            Files.delete(folder.resolve("secret"));
            assertFine(look());
        }
    }

    private void assertUnreadable(Path file, String why) throws Exception {
        var look = look();
        var part = file.equals(envs) ? Part.ENVIRONMENTS : Part.ATTACHMENTS;
        assertThat(look.snapshot().missing()).as(why).containsExactly(part);
        assertThat(problem(look)).isEqualTo(new Problem("state_unreadable", file.getFileName() + ": " + why));
    }

    @Test
    void theLongestFilesFit() throws Exception {
        for (var file : List.of(envs, devices)) {
            var content = Files.readString(file);
            Files.writeString(file, content + " ".repeat((3 << 20) - content.length()));
        }
        assertFine(look());
    }

    @Test
    void garbageIsToldAsSuch() throws Exception {
        var name = "@" + "0".repeat(32) + " end 1";
        for (var content : List.of("", "{", "\0\0\0", name + "\n" + name, "\u00ff", "[]", "{\"envs\": 1}")) {
            Files.write(envs, content.getBytes(StandardCharsets.ISO_8859_1));
            var look = look();
            assertThat(look.snapshot().missing()).as(content).contains(Part.ENVIRONMENTS);
            assertThat(look.snapshot().problems()).extracting(Problem::code).contains("state_unreadable");
        }
    }

    @Test
    void whatCannotBeWordsOfOursIsTakenAsItIs() throws Exception {
        var eid = "\n@0 end 1\n' \" \\ $(touch " + folder + "/pwned) `id`\u00e4\u2028";
        try (var other = Child.inEnvironment(eid)) {
            machine.smi.process(0, other.pid(), "1");
            machine.files()
                    .env(
                            eid,
                            Myself.uid(),
                            null,
                            null,
                            List.of(other.pid()),
                            List.of(eid, "$(touch " + folder + "/pwned)"))
                    .device(0, eid)
                    .device(1)
                    .write();
            var snapshot = look().snapshot();
            assertThat(snapshot.environments()).extracting(Environment::eid).containsExactly(eid);
            assertThat(snapshot.processes()).singleElement().matches(process -> process.names(eid));
            assertThat(snapshot.missing()).isEmpty();
            assertThat(folder.resolve("pwned")).doesNotExist();
        }
    }

    @Test
    void theDirectoryMustBeOne() throws Exception {
        var elsewhere = folder.resolve("elsewhere");
        Files.move(machine.state, elsewhere);
        assertThat(look().snapshot().problems())
                .doesNotContain(new Problem("state_directory_replaced", "")); // never seen before: a fresh machine
        Files.createSymbolicLink(machine.state, elsewhere);
        assertUnreadableDirectory("is a symbolic link");
        Files.delete(machine.state);
        Files.createFile(machine.state);
        assertUnreadableDirectory("is not a directory");
        Files.delete(machine.state);
        Files.move(elsewhere, machine.state);
        assertFine(look());
    }

    private void assertUnreadableDirectory(String why) throws Exception {
        var look = look();
        assertThat(look.snapshot().missing()).containsExactlyInAnyOrder(Part.ENVIRONMENTS, Part.ATTACHMENTS);
        assertThat(problem(look)).isEqualTo(new Problem("state_unreadable", machine.state + ": " + why));
    }

    /** Nothing in it is touched: it need not answer, and a command that waits for it cannot be ended. */
    @Test
    void aUsersOwnFileSystemOverTheDirectoryIsNotRead() throws Exception {
        var proc = machine.fakeProc(folder.resolve("proc"));
        assertThat(problems(machine.look())).isEmpty();
        for (var point : List.of(machine.state.toString(), machine.state + "/envs.json")) {
            proc.mounts(
                    "self",
                    "22 1 254:0 / / rw,relatime - ext4 /dev/root rw,user_id=7",
                    "63 22 0:39 / %s rw,relatime - fuse.sshfs x:/user_id=0 rw,user_id=61002,group_id=7"
                            .formatted(point));
            var look = machine.look();
            assertThat(problem(look).code()).isEqualTo("state_user_mount");
            assertThat(problem(look).detail())
                    .contains("user 61002 has mounted a file system of the type fuse.sshfs on " + point + ":");
            assertThat(look.snapshot().missing()).containsExactlyInAnyOrder(Part.ENVIRONMENTS, Part.ATTACHMENTS);
            assertThat(look.missingRights()).isEmpty();
        }
        proc.mounts(
                "self",
                "63 22 0:39 / %s rw,relatime - fuse.glusterfs x rw,user_id=0,group_id=0".formatted(machine.state),
                "64 22 0:40 / %s2 rw,relatime - fuse.sshfs x rw,user_id=61002,group_id=0".formatted(machine.state));
        assertThat(problems(machine.look())).isEmpty();
    }

    @Test
    void aDirectoryThatIsAnotherOneIsNoticed() throws Exception {
        assertFine(look());
        var elsewhere = folder.resolve("elsewhere");
        Files.move(machine.state, elsewhere);
        assertThat(problem(look()).detail()).isEqualTo(machine.state + " was there at an earlier look and is gone");
        assertThat(problem(look()).code()).isEqualTo("state_directory_replaced");
        Files.createDirectory(machine.state);
        assertThat(problem(look()).detail()).contains("is another directory than at the look before");
        assertThat(problems(look())).isEmpty();
    }

    /** Everybody may write there: he can be the first to take our name, but cannot put himself in our place. */
    @Test
    void whatStandsInThePlaceOfOurFolderIsLeftAlone() throws Exception {
        var others = Files.createDirectory(folder.resolve("others"));
        Files.setPosixFilePermissions(others, PosixFilePermissions.fromString("rwx------"));
        Files.createFile(own);
        assertFine(look());
        assertThat(own).isEmptyFile();
        Files.delete(own);
        Files.createSymbolicLink(own, others);
        assertFine(look());
        assertThat(others).isEmptyDirectory();
        Files.delete(own);
        Files.createSymbolicLink(own, folder.resolve("nowhere"));
        assertFine(look());
        Files.delete(own);
        Files.createDirectory(own);
        Files.setPosixFilePermissions(own, PosixFilePermissions.fromString("rwxrwxrwx"));
        assertFine(look());
        assertThat(own).isEmptyDirectory();
        assertNothingIsLeft();
    }

    /** What was begun and broken off. */
    @Test
    void whatWasLeftBehindIsTakenAway() throws Exception {
        var mode = PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rwx------"));
        var former = Files.createDirectory(own.resolveSibling(ShellAgent.FOLDER + ".abcdefghijkl"), mode);
        Files.createLink(former.resolve("lock"), lock);
        Files.createFile(former.resolve("new"));
        var others = Files.createDirectory(own.resolveSibling(ShellAgent.FOLDER + ".others78901"), mode);
        Files.createFile(others.resolve("lock"));
        Files.setPosixFilePermissions(others, PosixFilePermissions.fromString("rwxr-xr-x"));
        var elsewhere = Files.createDirectory(folder.resolve("elsewhere"), mode);
        Files.createFile(elsewhere.resolve("lock"));
        var link = Files.createSymbolicLink(own.resolveSibling(ShellAgent.FOLDER + ".link56789012"), elsewhere);
        assertFine(look());
        assertThat(former).doesNotExist();
        assertThat(others.resolve("lock")).exists();
        assertThat(elsewhere.resolve("lock")).exists();
        assertThat(link).isSymbolicLink();
        assertOurs();
    }

    /** Nobody but us can remove a folder of ours that is not empty. */
    @Test
    void whoTakesOurFolderAwayAgainAndAgainGainsNothing() throws Exception {
        var mover = Thread.ofPlatform().start(() -> {
            for (var i = 0; !Thread.currentThread().isInterrupted(); i++) {
                own.toFile().renameTo(machine.state.resolve("moved" + i).toFile());
                LockSupport.parkNanos(100_000);
            }
        });
        try {
            for (var i = 0; i < 5; i++) {
                assertFine(look());
            }
        } finally {
            mover.interrupt();
            mover.join();
        }
        try (var moved = Files.newDirectoryStream(machine.state, "moved*")) {
            assertThat(StreamSupport.stream(moved.spliterator(), false).toList())
                    .isNotEmpty()
                    .allSatisfy(each -> assertThat(each).isEmptyDirectory());
        }
        assertNothingIsLeft();
    }

    private void assertNothingIsLeft() throws IOException {
        try (var left = Files.newDirectoryStream(machine.state, ShellAgent.FOLDER + ".*")) {
            assertThat(left).isEmpty();
        }
    }

    private void assertOurs() throws IOException {
        assertThat(Files.isDirectory(own, LinkOption.NOFOLLOW_LINKS)).isTrue();
        assertThat(Files.getPosixFilePermissions(own)).isEqualTo(PosixFilePermissions.fromString("rwx------"));
        assertThat(own).isEmptyDirectory();
    }

    @Test
    void anotherUsersFolderIsNotOurs() throws Exception {
        Requirements.root();
        Files.createDirectory(own, PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rwx------")));
        Files.setAttribute(own, "unix:uid", 65534);
        Files.createFile(own.resolve("lock"));
        assertFine(look());
        assertThat(own.resolve("lock")).exists();
        assertNothingIsLeft();
    }

    @Test
    void anEnforcerOnTheMachineItselfHasPrecedence() throws Exception {
        var inode = Files.getAttribute(machine.state, "unix:ino");
        var mark = machine.state.resolve(".genv-enforcer.lock");
        Files.writeString(mark, "genv-enforcer of directory %s\n".formatted(inode));
        Files.setPosixFilePermissions(mark, PosixFilePermissions.fromString("rw-------"));
        assertFine(look());
        var expected = "another enforcer (process %d) acts on this state directory"
                .formatted(ProcessHandle.current().pid());
        try (var _ = RealFlock.take(mark)) {
            var look = look();
            assertThat(look.watchesOnly()).isEqualTo(expected);
            assertThat(problem(look)).isEqualTo(new Problem("second_enforcer", expected + ": this one only watches"));
            assertThat(machine.audits().look().watchesOnly()).isNull();
        }
        assertFine(look());
    }

    /** It could be anybody's, or one of another directory that somebody moved here. */
    @Test
    void whatOnlyLooksLikeAnEnforcersLockKeepsNobodyFromActing() throws Exception {
        var inode = Files.getAttribute(machine.state, "unix:ino");
        var mark = machine.state.resolve(".genv-enforcer.lock");
        var right = "genv-enforcer of directory %s\n".formatted(inode);
        Files.writeString(mark, right.replace("directory ", "directory 1"));
        Files.setPosixFilePermissions(mark, PosixFilePermissions.fromString("rw-------"));
        try (var _ = RealFlock.take(mark)) {
            assertFine(look());
            Files.writeString(mark, right);
            assertThat(look().watchesOnly()).isNotNull();
            Files.setPosixFilePermissions(mark, PosixFilePermissions.fromString("rw-rw----"));
            assertFine(look());
            Files.setPosixFilePermissions(mark, PosixFilePermissions.fromString("rw-------"));
            Files.createLink(folder.resolve("other"), mark);
            assertFine(look());
            Files.delete(folder.resolve("other"));
            if (Myself.isRoot()) {
                Files.setAttribute(mark, "unix:uid", 65534);
                assertFine(look());
            }
        }
    }

    /** The kernel keeps this time, whatever a user sets the other times of a file to. */
    @Test
    void tellsWhenTheStateWasChangedAndNoUserCanSetThatBack() throws Exception {
        var prepared = Files.writeString(folder.resolve("prepared"), Files.readString(devices));
        assertThatItWasChangedBy(() -> Files.writeString(devices, Files.readString(devices)));
        assertThatItWasChangedBy(() -> Files.setLastModifiedTime(devices, FileTime.fromMillis(0)));
        assertThatItWasChangedBy(() -> Files.move(prepared, devices, StandardCopyOption.ATOMIC_MOVE));
        assertThatItWasChangedBy(() -> Files.deleteIfExists(devices));
    }

    private void assertThatItWasChangedBy(Callable<?> change) throws Exception {
        var last = requireNonNull(look().stateChangedAt());
        await().atMost(HANG).until(() -> ticks() > last);
        var before = ticks();
        change.call();
        assertThat(look().stateChangedAt()).isBetween(before, ticks() + 200);
    }

    private static long ticks() throws IOException {
        return Math.round(100
                * Double.parseDouble(Files.readString(Path.of("/proc/uptime")).split(" ", 2)[0]));
    }

    /** What is written in place and not yet finished is not believed, where the lock cannot be had. */
    @Test
    void withoutTheLockOnlyWhatStandsStillIsBelieved() throws Exception {
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
            var look = look();
            assertThat(look.snapshot().missing()).containsExactly(Part.ATTACHMENTS);
            assertThat(look.snapshot().problems())
                    .contains(new Problem(
                            "state_unreadable", "devices.json: changes while it is read without genv's lock"));
            assertThat(look.snapshot().environments()).hasSize(1);
        } finally {
            writer.interrupt();
            writer.join();
        }
    }

    private Host.Look look() throws Exception {
        return agent.look(machine.shell, Set.of());
    }

    private static Problem problem(Host.Look look) {
        assertThat(problems(look)).hasSize(1);
        return problems(look).getFirst();
    }

    private static void assertFine(Host.Look look) {
        assertThat(problems(look)).isEmpty();
        assertThat(look.snapshot().missing()).isEmpty();
        assertThat(look.snapshot().environments()).hasSize(1);
        assertThat(look.watchesOnly()).isNull();
    }

    private static List<Problem> problems(Host.Look look) {
        return look.snapshot().problems().stream()
                .filter(problem -> !problem.code().equals("missing_right"))
                .toList();
    }
}
