package dev.genv.enforcer.remote.agent.python.state;

import static dev.genv.enforcer.remote.agent.python.PythonMachine.bytes;
import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import dev.genv.enforcer.remote.agent.python.PythonMachine;
import dev.genv.enforcer.testsupport.linux.Fifo;
import dev.genv.enforcer.testsupport.linux.RealFlock;
import dev.genv.enforcer.testsupport.linux.RealLease;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** The agent reads a state directory in which users do what they like. */
@Timeout(600)
class PythonStateTest extends PythonStateFixture {

    @Test
    void readsBothFilesUnderTheLock() throws Exception {
        var state = assertComplete();
        assertThat(state.at("/lock/outcome").asText()).isEqualTo("HELD");
        assertThat(state.at("/lock/limit").asDouble()).isEqualTo(30);
        assertThat(state.at("/lock/waited").asDouble()).isNotNegative();
        assertThat(state.at("/directory/present/id/inode").asLong())
                .isEqualTo(Files.getAttribute(machine.state, "unix:ino"));
        assertThat(state.at("/directory/present/id/device").asLong())
                .isEqualTo(Files.getAttribute(machine.state, "unix:dev"));
        assertThat(machine.state.toFile().list()).hasSize(3);
    }

    @Test
    void missingLockFileIsNotCreated() throws Exception {
        Files.delete(lock);
        assertThat(assertComplete().at("/lock/outcome").asText()).isEqualTo("HELD");
        assertThat(lock).doesNotExist();
    }

    @Test
    void auditModeDoesNotTakeTheLock() throws Exception {
        machine.request.put("acts", false);
        try (var _ = RealFlock.take(lock)) {
            assertThat(assertComplete().at("/lock/outcome").asText()).isEqualTo("NOT_ATTEMPTED");
        }
        assertThat(machine.run).doesNotExist();
    }

    @Test
    void reportsWhyAFileIsNotRead() throws Exception {
        for (var file : List.of(envs, devices)) {
            var content = Files.readString(file);
            Files.delete(file);
            assertThat(file(file).has("absent")).isTrue();
            Files.createSymbolicLink(file, Path.of("/etc/passwd"));
            assertUnreadable(file, "SYMBOLIC_LINK", 0);
            Files.delete(file);
            Files.createSymbolicLink(file, folder.resolve("nowhere"));
            assertUnreadable(file, "SYMBOLIC_LINK", 0);
            Files.delete(file);
            Fifo.at(file);
            assertUnreadable(file, "NOT_REGULAR", 0);
            Files.delete(file);
            Files.createDirectory(file);
            assertUnreadable(file, "NOT_REGULAR", 0);
            Files.delete(file);
            Files.write(file, new byte[(2 << 20) + 1]);
            assertUnreadable(file, "TOO_LARGE", 2 << 20);
            Files.writeString(file, content);
            Files.setPosixFilePermissions(file, PosixFilePermissions.fromString("rw-------"));
            Files.createLink(folder.resolve("secret"), file);
            assertUnreadable(file, "CLOSED", 2);
            Files.delete(folder.resolve("secret"));
            assertComplete();
        }
    }

    /** Opening it never waits for its owner. */
    @Test
    void readsTheOtherFileDespiteAFileLease() throws Exception {
        try (var _ = RealLease.take(devices)) {
            var state = machine.observe().get("state");
            assertThat(state.at("/devices/unreadable/cause").asText()).isEqualTo("OTHER");
            assertThat(state.at("/devices/unreadable/reason").asText()).isEqualTo("Resource temporarily unavailable");
            assertThat(state.at("/envs").has("present")).isTrue();
        }
    }

    private void assertUnreadable(Path file, String cause, int number) throws Exception {
        var unreadable = file(file).get("unreadable");
        assertThat(unreadable.get("cause").asText()).isEqualTo(cause);
        assertThat(unreadable.get("number").asInt()).isEqualTo(number);
        assertThat(unreadable.get("reason").asText()).isEmpty();
    }

    private JsonNode file(Path file) throws Exception {
        return machine.observe().at(file.equals(envs) ? "/state/envs" : "/state/devices");
    }

    @Test
    void readsFilesOfTheMaximumSizeAndAnyContent() throws Exception {
        for (var file : List.of(envs, devices)) {
            var content = Files.readString(file);
            Files.writeString(file, content + " ".repeat((2 << 20) - content.length()));
        }
        assertComplete();
        for (var content :
                List.of("", "{", "\0\0\0", "@" + PythonMachine.NONCE + " {}\n", "\u00ff", "[".repeat(2 << 20))) {
            Files.write(envs, content.getBytes(StandardCharsets.ISO_8859_1));
            assertComplete();
        }
        Files.writeString(envs, "1 22 333 4444 ".repeat(100_000));
        assertComplete();
    }

    /** Nobody knows when a cycle begins, but every user sees when nvidia-smi starts. */
    @Test
    void reportsTheStateBeforeTheGpuToolIfItDiffers() throws Exception {
        assertThat(machine.observe().get("earlierState").isNull()).isTrue();
        var content = Files.readString(devices);
        var input = machine.input("observe");
        var ask = "    facts[\"gpu\"], pids, tool_hangs = ";
        assertThat(input).contains(ask);
        var change = "    open('%s', 'w').write('{}')\n".formatted(devices);
        var facts = machine.run(input.replace(ask, change + ask)).answer().get("facts");
        assertThat(bytes(facts.at("/earlierState/devices/present/content"))).isEqualTo(content);
        assertThat(bytes(facts.at("/state/devices/present/content"))).isEqualTo("{}");
    }

    @Test
    void readsOnlyUnchangingFilesWithoutTheLock() throws Exception {
        machine.request.put("lockTimeout", 0.3);
        var changed = "os.stat('%s').st_ctime_ns".formatted(devices);
        var input = machine.input("observe");
        var pause = "        time.sleep(0.05)\n";
        assertThat(input).contains(pause);
        var untilChanged = "        last = %s\n        while %s == last:\n    ".formatted(changed, changed);
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
            var output = machine.run(input.replace(pause, untilChanged + pause));
            var state = output.answer().at("/facts/state");
            assertThat(state.at("/devices/unreadable/cause").asText()).isEqualTo("CHANGES_WITHOUT_LOCK");
            assertThat(bytes(state.at("/envs/present/content"))).isEqualTo(Files.readString(envs));
        } finally {
            writer.interrupt();
            writer.join();
        }
    }
}
