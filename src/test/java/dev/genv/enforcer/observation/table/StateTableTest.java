package dev.genv.enforcer.observation.table;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.genv.enforcer.host.Bytes;
import dev.genv.enforcer.host.HostFacts.LivenessFacts.LiveProcess;
import dev.genv.enforcer.host.HostFacts.ProcessFacts;
import dev.genv.enforcer.host.HostFacts.ProcessFacts.EnvironFacts;
import dev.genv.enforcer.host.Reading;
import dev.genv.enforcer.host.StateFacts;
import dev.genv.enforcer.host.StateFacts.Directory;
import dev.genv.enforcer.host.StateFacts.LockFacts;
import dev.genv.enforcer.host.StateFacts.LockFacts.Outcome;
import dev.genv.enforcer.host.StateFacts.StateFile;
import dev.genv.enforcer.observation.table.FakeMachine.Hands;
import dev.genv.enforcer.testsupport.linux.RealFlock;
import dev.genv.enforcer.testsupport.state.StateFiles;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.time.Duration;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.Parameter;
import org.junit.jupiter.params.ParameterizedClass;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;

/** What both hands read of a state directory in which users do what they like, and of the processes that it names. */
@Timeout(600)
@ParameterizedClass
@EnumSource
class StateTableTest {
    @Parameter
    Hands hands;

    @TempDir
    Path folder;

    private FakeMachine fake;
    private Path devices;
    private Path lock;

    @BeforeEach
    void create() throws IOException {
        fake = new FakeMachine(hands, folder);
        devices = fake.state.resolve("devices.json");
        lock = fake.state.resolve("genv.lock");
        files().device(0).write();
    }

    private StateFiles files() {
        return new StateFiles(fake.state);
    }

    private StateFacts state() throws Exception {
        return fake.observe().state();
    }

    /**
     * Mounts, of which STATE stands for the state directory and ABOVE for the one above it, and the file system of a user that must not be
     * accessed, by its type and mount point: another user decides what is read there.
     */
    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "ABOVE - fuse.sshfs x:/user_id=0 rw,user_id=61002,group_id=7               | fuse.sshfs ABOVE",
                "STATE/envs.json - fuse x rw,user_id=61002                                 | fuse STATE/envs.json",
                "STATE\\057devices.json - fuse x rw,user_id=61002                          | fuse STATE/devices.json",
                "STATE shared:1 master:2 - fuse x rw,allow_other,user_id=61002             | fuse STATE",
                "STATE - fuse x rw,user_id=0                                               |",
                "STATE - fuse x rw,xuser_id=5,user_id=5x                                   |",
                "STATE - ext4 /dev/sda rw,user_id=61002                                    |",
                "STATE - fuse user_id=61002 rw                                             |",
                "STATE2 - fuse x rw,user_id=61002                                          |",
                "/home/attacker - fuse x rw,user_id=61002                                  |",
                "garbage                                                                   |",
                "ABOVE - fuse x rw,user_id=61002; STATE - fuse.glusterfs x rw,user_id=0    |",
                "ABOVE - fuse x rw,user_id=61002; ABOVE - tmpfs x rw                       |",
                "REAL - fuse x rw,user_id=61002                                            | fuse REAL",
            })
    void fileSystemOfAUserIsNotAccessed(String mounts, @Nullable String found) throws Exception {
        if (mounts.startsWith("REAL")) { // the path leads there through a link
            Files.move(fake.state, Files.createDirectory(folder.resolve("real")).resolve("genv"));
            Files.createSymbolicLink(folder.resolve("link"), folder.resolve("real"));
            fake.statePath = folder.resolve("link/genv");
        }
        var lines = Stream.concat(
                        Stream.of("22 1 254:0 / / rw,relatime - ext4 /dev/root rw,user_id=7"),
                        Arrays.stream(paths(mounts).split("; ", -1))
                                .map(mount -> mount.replaceFirst("(\\S+) (.*)", "63 22 0:39 / $1 rw,relatime $2")))
                .toArray(String[]::new);
        fake.proc.mounts("self", lines);
        var directory = state().directory();
        if (found == null) {
            assertThat(directory).isInstanceOf(Directory.Present.class);
        } else {
            var words = paths(found).split(" ", -1);
            assertThat(directory).isEqualTo(new Directory.UserMount(61002, words[0], words[1]));
        }
    }

    private String paths(String text) {
        return text.replace("ABOVE", folder.toString())
                .replace("STATE", fake.state.toString())
                .replace("REAL", folder.resolve("real").toString());
    }

    /** Nobody knows when a cycle begins, but every user sees when nvidia-smi starts. */
    @Test
    void reportsTheStateBeforeTheGpuToolIfItDiffers() throws Exception {
        assertThat(fake.observe().earlierState()).isNull();
        var before = Files.readString(devices);
        fake.tool.fault("echo '{}' >" + devices);
        var facts = fake.observe();
        assertThat(facts.earlierState()).isNotNull();
        assertThat(content(facts.earlierState().devices())).isEqualTo(before);
        assertThat(content(facts.state().devices())).isEqualTo("{}\n");
    }

    private static String content(StateFile file) {
        return file instanceof StateFile.Present(var content) ? content.text() : file.toString();
    }

    /**
     * Locks in {@code /proc/locks} of the file of genv's lock, and the pids of its holders. On btrfs, stat(2) shows another device than that
     * file: so without a lock on DEV, the device of the file, the only other device counts.
     */
    @ParameterizedTest
    @CsvSource({
        "FLOCK 99 ff:07|FLOCK 812 DEV|FLOCK 812 DEV|FLOCK 99 ff:08, 812",
        "POSIX 98 DEV|FLOCK 812 DEV|-> FLOCK 99 DEV|garbage, 812",
        "FLOCK 812 ff:07, 812",
        "FLOCK 812 ff:07|FLOCK 99 ff:08, ''",
        "FLOCK -1 DEV, -1", // of another PID namespace
        "NONE,", // it cannot be read
    })
    void findsTheHoldersOfTheLock(String locks, @Nullable String pids) throws Exception {
        fake.lockLimit = Duration.ofMillis(300);
        try (var _ = RealFlock.take(lock)) {
            var number = (long) Files.getAttribute(fake.state, "unix:dev");
            var major = ((number >> 8) & 0xfff) | ((number >> 32) & 0xfffff000L);
            var minor = (number & 0xff) | ((number >> 12) & 0xffffff00L);
            var inode = Files.getAttribute(lock, "unix:ino");
            var lines = Arrays.stream(locks.split("\\|"))
                    .map(line -> line.replace("DEV", "%02x:%02x".formatted(major, minor))
                            .replaceFirst(
                                    "(.*)(FLOCK|POSIX) (\\S+) (\\S+)",
                                    "1: $1$2  ADVISORY  WRITE $3 $4:" + inode + " 0 EOF"))
                    .toList();
            var file = Files.write(fake.proc.root().resolve("locks"), lines);
            if (pids == null) {
                Files.delete(file);
            }
            var facts = state().lock();
            assertThat(facts.outcome()).isEqualTo(Outcome.TIMEOUT);
            var holders = facts.holders() instanceof Reading.Value<List<LockFacts.Holder>>(var found)
                    ? found.stream()
                            .map(LockFacts.Holder::pid)
                            .map(String::valueOf)
                            .collect(Collectors.joining(" "))
                    : null;
            assertThat(holders).isEqualTo(pids);
        }
    }

    /** genv writes in place, and a user who holds the lock for ever must not stop the service. */
    @Test
    void withoutTheLockOnlyAnUnchangingFileIsRead() throws Exception {
        fake.lockLimit = Duration.ofMillis(10);
        var content = Files.readString(devices);
        var writer = Thread.ofPlatform().start(() -> {
            while (!Thread.currentThread().isInterrupted()) {
                try {
                    var next = Files.writeString(folder.resolve("next"), content);
                    Files.move(next, devices, StandardCopyOption.ATOMIC_MOVE);
                } catch (IOException e) {
                    return;
                }
            }
        });
        try (var _ = RealFlock.take(lock)) {
            await("the writer may be slow").untilAsserted(() -> {
                var facts = state();
                assertThat(facts.devices())
                        .isEqualTo(new StateFile.Unreadable(StateFile.Cause.CHANGES_WITHOUT_LOCK, 0, ""));
                assertThat(content(facts.envs())).isEqualTo(files().envsJson());
            });
        } finally {
            writer.interrupt();
            writer.join();
        }
    }

    @Test
    void readsTheRealUidsOfTheProcessesThatExist() throws Exception {
        fake.proc.process(41).uid(1001).state('Z');
        fake.proc.process(42).uid(1002);
        fake.proc.process(43).uid(1003);
        Files.writeString(fake.proc.process(44).file("status"), "Name:\tpython\nUid:\tnobody\n");
        fake.proc.process(45).uid(1005);
        // Its shell tells whose an environment is, even if its pid was removed.
        files().env("a", 1000, null, null, 40, 41, 41, 0, -1, 44)
                .env("45", 1000, null, null, 43)
                .write();
        assertThat(fake.observe().liveness().processes()).isInstanceOf(Reading.Value.class);
        var found =
                ((Reading.Value<List<LiveProcess>>) fake.observe().liveness().processes()).value();
        assertThat(found)
                .containsExactlyInAnyOrder(
                        new LiveProcess(41, 1001L),
                        new LiveProcess(43, 1003L),
                        new LiveProcess(44, null),
                        new LiveProcess(45, 1005L));
    }

    @Test
    void kernelIsAFileThatAnArgumentNames() throws Exception {
        fake.proc
                .process(7)
                .arguments("/run/ü ü/kernel-1.json", "--f=kernel-2.json", "kernel-3.json", "/kernel-4.json.bak");
        fake.proc.process(8).arguments("/run/xkernel-5.json", "kernel-6.json\nx", "kernel-7", "8", "/x/kernel-19.json");
        fake.proc.process(9).arguments("x".repeat(32 << 10), "/run/kernel-10.json");
        fake.proc.process(10).arguments("x".repeat(64 << 10), "/run/kernel-11.json");
        fake.proc
                .process(11)
                .arguments("x".repeat((64 << 10) - 16), "/kernel-12.json.bak"); // only its beginning is read
        fake.proc.process(12).arguments("kernel-other.json");
        var wanted = List.of("1", "2", "3", "4", "5", "6", "7", "8", "9", "10", "11", "12");
        files().env("a", 0, null, null, List.of(), wanted).write();
        var kernels = fake.observe().liveness().kernels();
        assertThat(kernels.files())
                .isEqualTo(Set.of("kernel-1.json", "kernel-2.json", "kernel-3.json", "kernel-10.json"));
        assertThat(kernels.unsearched()).isEmpty();
    }

    /** In an environ, {@code |} means the zero byte, and a character means the byte of its number. */
    @Test
    void lastIdOfAnEnvironCounts() throws Exception {
        var rows = List.of(
                "GENV_ENVIRONMENT_ID=15971| -> 15971 well",
                "GENV_ENVIRONMENT_ID=15971 -> 15971",
                "HOME=/|GENV_ENVIRONMENT_ID=15971|LANG=C| -> 15971 well",
                "GENV_ENVIRONMENT_ID=1|GENV_ENVIRONMENT_ID=2| -> 2 well",
                "GENV_ENVIRONMENT_ID=|GENV_ENVIRONMENT_ID=2| -> 2 well",
                "GENV_ENVIRONMENT_ID=1|GENV_ENVIRONMENT_ID=| ->  well",
                "GENV_ENVIRONMENT_ID=a=b| -> a=b well",
                "GENV_ENVIRONMENT_ID=1|GENV_ENVIRONMENT_ID| -> 1",
                "GENV_ENVIRONMENT_ID=1|XGENV_ENVIRONMENT_ID=2| -> 1 well",
                "GENV_ENVIRONMENT_ID=1|GENV_ENVIRONMENT_IDX=2| -> 1 well",
                "GENV_ENVIRONMENT_ID=1|A=GENV_ENVIRONMENT_ID=2| -> 1 well",
                "GENV_ENVIRONMENT_ID=1| GENV_ENVIRONMENT_ID=2| -> 1 well",
                "A=\u00ff|\u00c3|GENV_ENVIRONMENT_ID=\u00c3\u00bc|\u00ed=1| -> \u00c3\u00bc",
                "GENV_ENVIRONMENT_ID=1\u0080| -> 1\u0080 well",
                " ->  well",
                "A -> ",
                "A=B -> ",
                "A=| ->  well",
                "=| -> ",
                "=A| -> ",
                "A=B|C| -> ",
                "A=B|| -> ",
                "|A=B| -> ",
                "A==| ->  well",
                "A=|=B| -> ",
                "A|B=| -> ",
                "A=B|=| -> ",
                "\u00c4=| ->  well",
                "A=B|C -> ");
        for (var i = 0; i < rows.size(); i++) {
            var environ = rows.get(i).split(" -> ", -1)[0].replace('|', '\0');
            fake.proc.process(100 + i).environ(environ.getBytes(StandardCharsets.ISO_8859_1));
        }
        fake.list(IntStream.range(100, 100 + rows.size()).toArray());
        var found = fake.observe().processes().stream()
                .sorted(Comparator.comparingInt(ProcessFacts::pid))
                .map(process -> describe(process.environ()))
                .toList();
        assertThat(found)
                .isEqualTo(rows.stream().map(row -> row.split(" -> ", -1)[1]).toList());
    }

    /** A process can have any number of bytes in place of its environ. */
    @Test
    void firstEightMebibytesOfAnEnvironAreRead() throws Exception {
        var id = "GENV_ENVIRONMENT_ID=a";
        fake.proc.process(100).environ("X=" + "x".repeat(7 << 20), id);
        fake.proc.process(101).environ("X=" + "x".repeat(9 << 20), id);
        fake.list(100, 101);
        var found = fake.observe().processes().stream()
                .sorted(Comparator.comparingInt(ProcessFacts::pid))
                .map(ProcessFacts::environ)
                .toList();
        assertThat(found.stream().map(StateTableTest::describe)).containsExactly("a well", "");
        assertThat(found.getLast()).isEqualTo(Reading.of(new EnvironFacts(8 << 20, Bytes.EMPTY, "", false)));
    }

    private static String describe(Reading<EnvironFacts> reading) {
        return reading instanceof Reading.Value<EnvironFacts>(var environ)
                ? new String(environ.id().array(), StandardCharsets.ISO_8859_1) + (environ.wellFormed() ? " well" : "")
                : reading.toString();
    }
}
