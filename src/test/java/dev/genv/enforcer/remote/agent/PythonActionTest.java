package dev.genv.enforcer.remote.agent;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import dev.genv.enforcer.testsupport.Requirements;
import dev.genv.enforcer.testsupport.linux.Child;
import dev.genv.enforcer.testsupport.linux.RealFlock;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** What only the agent does when it acts; {@code ActionTableTest} has what both hands do. */
class PythonActionTest extends PythonFixture {
    private static final String NEW = "{\n  \"devices\": []\n}";
    private Child child;
    private String old;

    @BeforeEach
    void writeState() throws IOException {
        machine.files().device(0, "a").write();
        old = Files.readString(machine.state.resolve("devices.json"));
        child = Child.inEnvironment("15971");
    }

    @AfterEach
    void endChild() {
        child.close();
    }

    /** So it is on systems without pidfd_open(2). */
    @Test
    void signalsAfterAComparisonWithoutHandles() throws Exception {
        var input = machine.signalInput(child.pid()).replaceFirst("PIDFD_OPEN = 424, 434", "PIDFD_OPEN = 9999, 9999");
        var another = input.replaceFirst("startTime=\\d+", "startTime=1");
        assertThat(machine.signal(another)).isEqualTo("GONE");
        assertThat(child.isAlive()).isTrue();
        assertThat(machine.signal(input)).isEqualTo("SENT");
        assertThat(child.awaitExit()).isEqualTo(143);
        var examination = machine.input("examine").replaceFirst("PIDFD_OPEN = 424, 434", "PIDFD_OPEN = 9999, 9999");
        machine.request.putArray("pids").add(ProcessHandle.current().pid());
        assertThat(machine.run(examination).answer().get("hasHandles").asBoolean())
                .isFalse();
    }

    @Test
    void announcesEachActionBeforeIt() throws Exception {
        assertThat(machine.run(machine.signalInput(child.pid())).parsed().begun())
                .containsExactly(child.pid());
        assertThat(machine.run(machine.swapInput(old, NEW)).parsed().begun()).containsExactly(0);
        var another = machine.swapInput(old, NEW); // it is another file now
        assertThat(machine.run(another).parsed().begun()).isEmpty();
    }

    /** The service no longer listens, and it cannot learn what was done. */
    @Test
    void doesNothingIfItCannotAnnounceIt() throws Exception {
        machine.command = List.of("sh", "-c", "exec %s -I -S - >/dev/full".formatted(PythonMachine.PYTHON));
        var output = machine.run(machine.signalInput(child.pid()).replace("    write(1, b\"\\n@", "    (b\"\\n@"));
        assertThat(output.errors()).contains("No space left on device");
        assertThat(output.exitCode()).isNotZero();
        assertThat(child.isAlive()).isTrue();
    }

    @Test
    void expiredActionIsNotExecuted() throws Exception {
        machine.useFakeProc().process(child.pid()).uid(1003).environ("X=1");
        Files.writeString(folder.resolve("proc/devices"), "Character devices:\n");
        machine.request.put("deadline", 359_999);
        assertThat(machine.signal(child.pid())).isEqualTo("NOT_SENT");
        assertThat(machine.swapDevices(old, NEW).at("/swap/notWritten/reason").asText())
                .isEqualTo("abandoned: the execution took too long");
        machine.request.put("deadline", 360_000).put("boot", "another");
        assertThat(machine.signal(child.pid())).isEqualTo("NOT_SENT");
        assertThat(child.isAlive()).isTrue();
        machine.request.put("boot", PythonMachine.BOOT);
        assertThat(machine.signal(child.pid())).isEqualTo("SENT");
        assertThat(child.awaitExit()).isEqualTo(143);
    }

    @Test
    void missingPrivilegeYieldsDenied() throws Exception {
        Requirements.root();
        machine.useFakeProc().process(child.pid()).uid(1003).environ("X=1");
        Files.writeString(folder.resolve("proc/devices"), "Character devices:\n");
        machine.command =
                List.of("setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups", PythonMachine.PYTHON, "-");
        assertThat(machine.signal(child.pid())).isEqualTo("DENIED");
        assertThat(child.isAlive()).isTrue();
    }

    /** What others write without the lock must not be lost. */
    @Test
    void changeDirectlyBeforeTheReplacementPreventsIt() throws Exception {
        for (var change : List.of(
                "os.utime(machine.request['state'] + '/devices.json')",
                "os.rename(machine.request['state'] + '/genv.lock', machine.request['state'] + '/moved')",
                "machine.request.update(deadline=0)")) {
            var input = machine.swapInput(old, NEW)
                    .replace("        # As late as possible", "        " + change + "\n        #");
            assertThat(machine.run(input).answer().at("/swap").has("disturbed"))
                    .as(change)
                    .isTrue();
            assertThat(machine.state.resolve("devices.json")).hasContent(old);
        }
        assertThat(machine.state).isDirectoryNotContaining("glob:**enforcer-*");
    }

    private static final String LEASED =
            "another service acted on this host \\d+ s ago: observing only until its lease expires, in \\d+ s";

    // Several services act on one machine over SSH: only one of them does at a time.

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
        var answer = machine.run(machine.signalInput(child.pid())).answer();
        var result = answer.at("/signals/0/result");
        assertThat(result.get("kind").asText()).isEqualTo("NOT_SENT");
        assertThat(result.get("reason").asText()).matches(LEASED);
        assertThat(machine.swapDevices("", NEW).at("/swap/notWritten/reason").asText())
                .matches(LEASED);
        assertThat(child.isAlive()).isTrue();
        Files.writeString(leases(), ours);
        assertThat(machine.signal(child.pid())).isEqualTo("SENT");
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
