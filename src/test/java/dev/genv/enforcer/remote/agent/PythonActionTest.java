package dev.genv.enforcer.remote.agent;

import static org.assertj.core.api.Assertions.assertThat;

import dev.genv.enforcer.testsupport.Requirements;
import dev.genv.enforcer.testsupport.linux.Child;
import java.io.IOException;
import java.nio.file.Files;
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
        useFakeProc().process(child.pid()).uid(1003).environ("X=1");
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
        useFakeProc().process(child.pid()).uid(1003).environ("X=1");
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
}
