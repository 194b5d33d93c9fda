package dev.genv.enforcer.remote.agent.python;

import static dev.genv.enforcer.remote.agent.python.PythonMachine.bytes;
import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import com.fasterxml.jackson.databind.JsonNode;
import dev.genv.enforcer.model.Sha256;
import dev.genv.enforcer.testsupport.Requirements;
import dev.genv.enforcer.testsupport.linux.Fifo;
import dev.genv.enforcer.testsupport.linux.RealFlock;
import dev.genv.enforcer.testsupport.linux.RealLease;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.Base64;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** The agent replaces {@code devices.json}, while others write in it. */
@Timeout(600)
class PythonDetachTest {
    private static final String NEW = "{\n  \"devices\": []\n}";
    private static final String TEMPORARY = ".devices.json.genv-enforcer-";

    @TempDir
    private Path folder;

    private PythonMachine machine;
    private Path devices;
    private Path lock;
    private String old;

    @BeforeEach
    void writeState() throws IOException {
        machine = new PythonMachine(folder);
        machine.request.put("lockTimeout", 0.3);
        devices = machine.state.resolve("devices.json");
        lock = Files.createFile(machine.state.resolve("genv.lock"));
        machine.files().device(0, "a").write();
        old = Files.readString(devices);
        machine.request
                .putObject("detach")
                .put("number", 5)
                .put("digest", Sha256.hex(old.getBytes(UTF_8)))
                .put("content", Base64.getEncoder().encodeToString(NEW.getBytes(UTF_8)));
    }

    @Test
    void replacesTheFile() throws Exception {
        var output = machine.run(machine.input("act"));
        assertThat(output.lines()).hasSize(2).startsWith("begun 5");
        var answer = output.answer();
        assertThat(answer.at("/detached/result").asText()).isEqualTo("DONE");
        assertThat(answer.at("/detached/file").isNull()).isTrue();
        assertThat(answer.at("/lock/outcome").asText()).isEqualTo("HELD");
        assertThat(devices).hasContent(NEW);
        assertThat(Files.getPosixFilePermissions(devices)).isEqualTo(PosixFilePermissions.fromString("rw-rw-rw-"));
        assertNothingLeft();
    }

    @Test
    void changedFileIsReturned() throws Exception {
        machine.files().device(0, "a", "b").writeDevices();
        var output = machine.run(machine.input("act"));
        assertThat(output.lines()).hasSize(1);
        var detached = output.answer().get("detached");
        assertThat(detached.get("result").asText()).isEqualTo("CHANGED");
        assertThat(bytes(detached.at("/file/present/content"))).isEqualTo(Files.readString(devices));
        machine.request.withObject("/detach").put("digest", "");
        assertThat(detach("CHANGED").at("/file").has("present")).isTrue();
    }

    @Test
    void missingFileOrDirectoryIsAbsent() throws Exception {
        Files.delete(devices);
        detach("ABSENT");
        assertThat(devices).doesNotExist();
        try (var files = Files.walk(machine.state)) {
            for (var file : files.sorted(java.util.Comparator.reverseOrder()).toList()) {
                Files.delete(file);
            }
        }
        detach("ABSENT");
        assertThat(machine.state).doesNotExist();
    }

    @Test
    void refusesFileThatIsNotARegularFile() throws Exception {
        var target = Files.move(devices, folder.resolve("target"));
        Files.createSymbolicLink(devices, target);
        assertUnreadable("SYMBOLIC_LINK");
        assertThat(target).hasContent(old);
        Files.delete(devices);
        Fifo.at(devices);
        assertUnreadable("NOT_REGULAR");
        Files.delete(devices);
        Files.createDirectory(devices);
        assertUnreadable("NOT_REGULAR");
        Files.delete(devices);
        Files.write(devices, new byte[(2 << 20) + 1]);
        assertUnreadable("TOO_LARGE");
        Files.delete(devices);
        Files.move(machine.state, folder.resolve("elsewhere"));
        Files.createSymbolicLink(machine.state, folder.resolve("elsewhere"));
        assertThat(detach("UNREADABLE").get("reason").asText()).isEqualTo("is a symbolic link");
    }

    private void assertUnreadable(String cause) throws Exception {
        assertThat(detach("UNREADABLE").at("/file/unreadable/cause").asText()).isEqualTo(cause);
    }

    @Test
    void doesNotWriteWithoutTheLock() throws Exception {
        try (var _ = RealFlock.take(lock)) {
            var answer = machine.act();
            assertThat(answer.at("/detached/result").asText()).isEqualTo("LOCKED");
            assertThat(answer.at("/lock/outcome").asText()).isEqualTo("TIMEOUT");
            assertThat(answer.at("/lock/holders/0/pid").asLong())
                    .isEqualTo(ProcessHandle.current().pid());
        }
        try (var _ = RealLease.take(lock)) {
            detach("LOCKED");
        }
        Files.delete(lock);
        Files.createSymbolicLink(lock, folder.resolve("nowhere"));
        assertThat(machine.act().at("/lock/reason").asText()).isEqualTo("is a symbolic link");
        assertThat(folder.resolve("nowhere")).doesNotExist();
        assertThat(devices).hasContent(old);
    }

    @Test
    void createsMissingLockFile() throws Exception {
        Files.delete(lock);
        detach("DONE");
        assertThat(Files.getPosixFilePermissions(lock)).isEqualTo(PosixFilePermissions.fromString("rw-rw-rw-"));
        assertThat(lock).isEmptyFile();
    }

    @Test
    void writesOnlyAfterTheLockIsReleased() throws Exception {
        machine.request.put("lockTimeout", 60);
        var held = RealFlock.take(lock);
        var release = Thread.ofPlatform().start(() -> {
            try {
                // The lease is taken before the lock.
                await().until(() -> Files.exists(machine.run.resolve("lock")));
                machine.files().device(0, "a", "b").writeDevices();
                held.close();
            } catch (IOException e) {
                throw new AssertionError(e);
            }
        });
        detach("CHANGED");
        release.join();
    }

    /** What others write without the lock must not be lost. */
    @Test
    void detectsAChangeDirectlyBeforeTheReplacement() throws Exception {
        for (var change : new String[] {
            "os.utime(machine.request['state'] + '/devices.json')",
            "os.rename(machine.request['state'] + '/genv.lock', machine.request['state'] + '/moved')",
            "machine.request.update(deadline=0)"
        }) {
            var input =
                    machine.input("act").replace("        # As late as possible", "        " + change + "\n        #");
            assertThat(machine.run(input).answer().at("/detached/result").asText())
                    .as(change)
                    .isEqualTo("RESTLESS");
            assertThat(devices).hasContent(old);
            assertNothingLeft();
        }
    }

    /** The file is replaced then, and must not look like one that another program wrote. */
    @Test
    void detachesInADirectoryThatCannotBeSynced() throws Exception {
        var rename = "os.rename(name, DEVICES, src_dir_fd=directory, dst_dir_fd=directory)";
        var input = machine.input("act").replace(rename, rename + "; os.close(directory)");
        assertThat(machine.run(input).answer().at("/detached/result").asText()).isEqualTo("DONE");
        assertThat(devices).hasContent(NEW);
    }

    @Test
    void expiredDetachmentIsNotExecuted() throws Exception {
        machine.request.put("deadline", 1);
        assertThat(machine.run(machine.input("act")).lines()).hasSize(1);
        detach("LATE");
        assertThat(devices).hasContent(old);
    }

    /** They have the names of the node's temporary files. */
    @Test
    void removesTemporaryFilesOfKilledRuns() throws Exception {
        Files.createFile(machine.state.resolve(TEMPORARY + "0123456789abcdef"));
        Files.createDirectory(machine.state.resolve(TEMPORARY + "0123456789abcdee"));
        var others = Files.createFile(machine.state.resolve(TEMPORARY + "0123456789abcdef0"));
        detach("DONE");
        assertThat(machine.state.resolve(TEMPORARY + "0123456789abcdef")).doesNotExist();
        assertThat(others).exists();
    }

    @Test
    void fullDiskLeavesTheFileUnchanged() throws Exception {
        Requirements.root();
        var mount = new ProcessBuilder("mount", "-t", "tmpfs", "-o", "size=64k", "none", machine.state.toString());
        Requirements.mounts(mount.start().waitFor() == 0);
        try {
            Files.writeString(devices, old);
            Files.createFile(lock);
            fillDisk(machine.state.resolve("full"));
            assertThat(detach("UNWRITTEN").get("reason").asText()).isEqualTo("No space left on device");
            assertThat(devices).hasContent(old);
            assertNothingLeft();
            Files.delete(machine.state.resolve("full"));
            detach("DONE");
        } finally {
            new ProcessBuilder("umount", "-l", machine.state.toString()).start().waitFor();
        }
    }

    private static void fillDisk(Path file) throws IOException {
        try (var stream = Files.newOutputStream(file)) {
            while (true) {
                stream.write(new byte[512]);
            }
        } catch (IOException full) {
            assertThat(Files.size(file)).isPositive();
        }
    }

    private JsonNode detach(String result) throws Exception {
        var detached = machine.act().get("detached");
        assertThat(detached.get("result").asText()).isEqualTo(result);
        return detached;
    }

    private void assertNothingLeft() throws IOException {
        try (var left = Files.newDirectoryStream(machine.state, TEMPORARY + "*")) {
            assertThat(left).isEmpty();
        }
    }
}
