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
    private static final String LEASED =
            "another service acted on this host \\d+ s ago: observing only until its lease expires, in \\d+ s";

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
        var ours = Files.readString(leases());
        Files.writeString(leases(), changed(ours, "\"one\"", "\"another\""));
        try (var child = Child.inEnvironment("15971")) {
            var answer = machine.run(machine.signalInput(child.pid())).answer();
            var result = answer.at("/signals/0/result");
            assertThat(result.get("kind").asText()).isEqualTo("NOT_SENT");
            assertThat(result.get("reason").asText()).matches(LEASED);
            assertThat(machine.swapDevices("", "{}")
                            .at("/swap/notWritten/reason")
                            .asText())
                    .matches(LEASED);
            assertThat(child.isAlive()).isTrue();
            Files.writeString(leases(), ours);
            assertThat(machine.signal(child.pid())).isEqualTo("SENT");
        }
    }

    @Test
    void leaseEndsWithItsTimeOrAReboot() throws Exception {
        observe("one");
        var ours = Files.readString(leases());
        for (var old : List.of(
                changed(ours, machine.request.get("boot").asText(), "another boot"),
                ours.replaceFirst("\"end\":\\d+", "\"end\":5"),
                ours.substring(0, ours.length() - 1),
                "",
                "\0ä")) {
            Files.writeString(leases(), old);
            assertThat(observe("two").isNull()).as(old).isTrue();
            assertThat(observe("one").has("leased")).as(old).isTrue();
            assertThat(Files.readString(leases()))
                    .as("the expired one is removed")
                    .containsOnlyOnce("holder");
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
        try (var _ = RealFlock.take(leases())) {
            assertThat(observe("one").at("/leased/secondsLeft").asLong()).isZero();
        }
        assertThat(observe("one").isNull()).isTrue();
    }

    private Path leases() {
        return machine.run.resolve("leases");
    }

    private JsonNode observe(String holder) throws Exception {
        machine.request.withObject("/lease").put("holder", holder);
        return machine.facts().at("/enforcers/other");
    }
}
