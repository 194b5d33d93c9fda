package dev.genv.enforcer.remote.agent;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import dev.genv.enforcer.testsupport.linux.Child;
import dev.genv.enforcer.testsupport.linux.RealFlock;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Several services act on one machine over SSH: only one of them does at a time. */
class PythonLeaseTest extends PythonFixture {

    @BeforeEach
    void writeState() throws IOException {
        machine.files().device(0).write();
    }

    @Test
    void secondServiceIsTold() throws Exception {
        assertThat(observe("one").isNull()).isTrue();
        var leased = observe("two").get("leased");
        assertThat(leased.get("secondsAgo").asLong()).isBetween(0L, 3599L);
        assertThat(leased.get("secondsLeft").asLong()).isBetween(1L, 3600L);
        assertThat(observe("one").isNull()).isTrue();
        machine.request.put("acts", false);
        assertThat(observe("two").isNull()).isTrue();
    }

    /** The owner of the state directory can rename it and back. */
    @Test
    void exchangedStateDirectoryHasTheSameLease() throws Exception {
        assertThat(observe("one").isNull()).isTrue();
        Files.move(machine.state, machine.state.resolveSibling("hidden"));
        Files.createDirectory(machine.state);
        assertThat(observe("two").has("leased")).isTrue();
        Files.delete(machine.state);
        assertThat(observe("two").has("leased")).isTrue();
        assertThat(observe("one").isNull()).isTrue();
    }

    /** Between observing and acting, another service may have taken the lease. */
    @Test
    void leaseIsCheckedAgainBeforeActing() throws Exception {
        observe("one");
        var ours = Files.readString(leaseFile());
        Files.writeString(leaseFile(), ours.replaceFirst("^one", "another"));
        try (var child = Child.inEnvironment("15971")) {
            var answer = machine.run(machine.signalInput(child.pid())).answer();
            assertThat(answer.at("/leased/secondsLeft").asLong()).isBetween(1L, 3600L);
            assertThat(answer.get("signals")).isEmpty();
            answer = machine.swapDevices("", "{}");
            assertThat(answer.at("/leased/secondsLeft").asLong()).isBetween(1L, 3600L);
            assertThat(answer.get("swap").isNull()).isTrue();
            assertThat(child.isAlive()).isTrue();
            Files.writeString(leaseFile(), ours);
            assertThat(machine.signal(child.pid())).isEqualTo("SENT");
        }
    }

    @Test
    void leaseEndsWithItsTimeOrAReboot() throws Exception {
        observe("one");
        var boot = machine.request.get("boot").asText();
        var lease = leaseFile();
        for (var old : List.of(
                "one 1 5 " + boot, "one 1 999999999 other-boot", "", "one", "one x 9 " + boot, "one 1", "\0ä")) {
            Files.writeString(lease, old + "\n");
            assertThat(observe("two").isNull()).as(old).isTrue();
            assertThat(observe("one").has("leased")).as(old).isTrue();
        }
    }

    @Test
    void singleCycleTakesNoLeaseButRespectsOthers() throws Exception {
        machine.request.withObject("/lease").put("seconds", 0);
        assertThat(observe("single").isNull()).isTrue();
        machine.request.withObject("/lease").put("seconds", 3600.5);
        assertThat(observe("one").isNull()).isTrue();
        machine.request.withObject("/lease").put("seconds", 0);
        assertThat(observe("single").has("leased")).isTrue();
    }

    @Test
    void removesExpiredLeases() throws Exception {
        observe("one");
        var lease = leaseFile();
        var former = Files.writeString(machine.run.resolve("1:2"), "one 1 5 boot\n");
        var garbage = Files.writeString(machine.run.resolve("1:3"), "");
        observe("one");
        assertThat(former).doesNotExist();
        assertThat(garbage).doesNotExist();
        assertThat(lease).exists();
    }

    @Test
    void doesNotUseDirectoryThatOthersCanWrite() throws Exception {
        Files.createDirectory(machine.run);
        setMode(machine.run, "rwxrwxrwx");
        assertNoLease();
        Files.delete(machine.run);
        var target = Files.createDirectory(folder.resolve("target"));
        Files.createSymbolicLink(machine.run, target);
        setMode(target, "rwx------");
        assertNoLease();
        assertThat(target).isEmptyDirectory();
        Files.delete(machine.run);
        Files.createFile(machine.run);
        assertNoLease();
    }

    private void assertNoLease() throws Exception {
        for (var holder : List.of("one", "two")) {
            assertThat(observe(holder).isNull()).isTrue();
        }
    }

    @Test
    void anotherServiceMayHoldTheLeaseWhileItsLockIsHeld() throws Exception {
        observe("one");
        try (var _ = RealFlock.take(machine.run.resolve("lock"))) {
            assertThat(observe("one").at("/leased/secondsLeft").asLong()).isZero();
        }
        assertThat(observe("one").isNull()).isTrue();
    }

    private Path leaseFile() throws IOException {
        try (var files = Files.list(machine.run)) {
            return files.filter(file -> file.getFileName().toString().contains(":"))
                    .findFirst()
                    .orElseThrow();
        }
    }

    private JsonNode observe(String holder) throws Exception {
        machine.request.withObject("/lease").put("holder", holder);
        return machine.facts().at("/enforcers/other");
    }
}
