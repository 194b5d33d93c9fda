package dev.genv.enforcer.remote.agent;

import static dev.genv.enforcer.remote.agent.PythonMachine.bytes;
import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.genv.enforcer.testsupport.Requirements;
import dev.genv.enforcer.testsupport.fake.FakeProc;
import dev.genv.enforcer.testsupport.linux.Child;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** The agent signals real processes; what the kernel shows of them may be fake. */
@Timeout(600)
class PythonActionTest {
    @TempDir
    private Path folder;

    private PythonMachine machine;
    private Child child;

    @BeforeEach
    void create() throws IOException {
        Files.setPosixFilePermissions(folder, PosixFilePermissions.fromString("rwxr-xr-x"));
        machine = new PythonMachine(folder);
        child = Child.inEnvironment("15971");
        machine.nvidiaSmi.process(0, child.pid(), "1542");
        machine.files().device(0).device(1).write();
    }

    @AfterEach
    void endChild() {
        child.close();
    }

    @Test
    void sendsSigtermThroughAHandle() throws Exception {
        machine.terminate(observe(), child.startTime());
        var answer = machine.act();
        assertThat(answer.at("/results/0/result").asText()).isEqualTo("SIGNALLED");
        assertThat(answer.at("/results/0/environ").isNull()).isTrue();
        assertThat(answer.get("handles").asText()).isEqualTo("pidfd");
        assertThat(answer.get("leased").isNull()).isTrue();
        assertThat(answer.at("/lock/outcome").asText()).isEqualTo("NOT_ATTEMPTED");
        assertThat(answer.get("detached").isNull()).isTrue();
        assertThat(child.awaitExit()).isEqualTo(143);
    }

    @Test
    void sendsSigkillIfPlanned() throws Exception {
        machine.terminate(observe(), child.startTime()).put("signal", "KILL");
        assertThat(result()).isEqualTo("SIGNALLED");
        assertThat(child.awaitExit()).isEqualTo(137);
    }

    /** So it is on systems without pidfd_open(2). */
    @Test
    void sendsSignalAfterAComparisonWithoutHandles() throws Exception {
        machine.terminate(observe(), child.startTime());
        var input = machine.input("act").replaceFirst("PIDFD_OPEN = 424, 434", "PIDFD_OPEN = 9999, 9999");
        var answer = machine.run(input).answer();
        assertThat(answer.get("handles").asText()).isEqualTo("comparison");
        assertThat(answer.at("/results/0/result").asText()).isEqualTo("SIGNALLED");
        assertThat(child.awaitExit()).isEqualTo(143);
    }

    @Test
    void announcesEachSignalBeforeIt() throws Exception {
        try (var other = Child.inEnvironment("15971")) {
            machine.nvidiaSmi.process(0, other.pid(), "1");
            var processes = machine.observe().get("processes");
            for (var process : processes) {
                var start = process.get("pid").asInt() == child.pid() ? child.startTime() : other.startTime();
                machine.terminate(process, start);
            }
            machine.terminate(processes.get(0), 1);
            var output = machine.run(machine.input("act"));
            assertThat(output.lines()).hasSize(3).startsWith("begun 0", "begun 1");
            assertThat(output.answer().at("/results/2/result").asText()).isEqualTo("GONE");
        }
    }

    /** The service no longer listens, and it cannot learn what was done. */
    @Test
    void sendsNothingIfItCannotAnnounceIt() throws Exception {
        machine.terminate(observe(), child.startTime());
        machine.command = List.of("sh", "-c", "exec %s -I -S - >/dev/full".formatted(PythonMachine.PYTHON));
        var output = machine.run(machine.input("act").replace("    write(1, b\"\\n\")", "    pass"));
        assertThat(output.errors()).contains("No space left on device");
        assertThat(child.isAlive()).isTrue();
    }

    @Test
    void terminatesProcessesOfAnyOrNoEnvironment() throws Exception {
        try (var outside = Child.withEnvironment(Map.of());
                var empty = Child.withEnvironment(Map.of("GENV_ENVIRONMENT_ID", ""));
                var longest = Child.inEnvironment("x".repeat(5000));
                var odd = Child.inEnvironment("\n' \" \\ $(id)`@0 end ä")) {
            for (var each : List.of(outside, empty, longest, odd)) {
                machine.nvidiaSmi.noProcesses().process(0, each.pid(), "1");
                machine.request.putArray("terminations");
                machine.terminate(observe(), each.startTime());
                assertThat(result()).isEqualTo("SIGNALLED");
                assertThat(each.awaitExit()).isEqualTo(143);
            }
        }
    }

    @Test
    void neverSignalsInitOrNonPids() throws Exception {
        var process = (ObjectNode) observe();
        for (var pid : List.of(1, 0, -1)) {
            machine.terminate(process.put("pid", pid), child.startTime());
        }
        var results = machine.act().get("results");
        assertThat(results)
                .hasSize(3)
                .allSatisfy(result -> assertThat(result.get("result").asText()).isEqualTo("PROTECTED"));
    }

    @Test
    void reusedPidIsNotSignalled() throws Exception {
        machine.terminate(observe(), child.startTime() - 1);
        assertThat(result()).isEqualTo("GONE");
        var fake = fakeProcess();
        plan();
        fake.startTime(1001);
        assertThat(result()).isEqualTo("GONE");
        fake.startTime(1000).state('Z');
        assertThat(result()).isEqualTo("GONE");
        fake.threads(2);
        assertThat(result()).isEqualTo("UNREADABLE"); // no thread can be read
        for (var file : List.of("stat", "status", "environ", "cmdline", "comm")) {
            Files.delete(fake.file(file));
        }
        assertThat(result()).isEqualTo("GONE");
        assertThat(child.isAlive()).isTrue();
    }

    @Test
    void exitedProcessIsGone() throws Exception {
        var process = observe();
        machine.terminate(process, child.startTime());
        child.close();
        assertThat(result()).isEqualTo("GONE");
    }

    @Test
    void changedProcessIsNotSignalled() throws Exception {
        var fake = fakeProcess();
        plan();
        fake.uid(1004);
        var result = machine.act().at("/results/0");
        assertThat(result.get("result").asText()).isEqualTo("OTHER_USER");
        assertThat(result.get("uid").asLong()).isEqualTo(1004);
        Files.writeString(fake.file("status"), "Uid:\t?\n");
        result = machine.act().at("/results/0");
        assertThat(result.get("result").asText()).isEqualTo("OTHER_USER");
        assertThat(result.get("uid").isNull()).isTrue();
        fake.uid(1003).environ("GENV_ENVIRONMENT_ID=b");
        result = machine.act().at("/results/0");
        assertThat(result.get("result").asText()).isEqualTo("CHANGED");
        assertThat(bytes(result.at("/environ/id"))).isEqualTo("b");
        fake.environ("GENV_ENVIRONMENT_ID=15971").withoutEnvironment();
        assertThat(result()).isEqualTo("UNREADABLE");
        assertThat(child.isAlive()).isTrue();
    }

    @Test
    void unreadableProcessIsNotSignalled() throws Exception {
        var fake = fakeProcess();
        var action = plan();
        Files.delete(fake.file("environ"));
        assertThat(result()).isEqualTo("UNREADABLE");
        fake.environ("");
        PythonProcessTest.hang(fake, "environ");
        assertThat(result()).isEqualTo("TIMEOUT");
        assertThat(child.isAlive()).isTrue();
        Files.delete(fake.file("environ"));
        fake.environ("X=1", "GENV_ENVIRONMENT_ID=15971"); // another program
        var result = machine.act().at("/results/0");
        assertThat(result.get("result").asText()).isEqualTo("CHANGED");
        assertThat(bytes(result.get("stat"))).isEqualTo(Files.readString(fake.file("stat")));
        action.putArray("addresses");
        assertThat(result()).isEqualTo("SIGNALLED");
        assertThat(child.awaitExit()).isEqualTo(143);
    }

    @Test
    void acceptsAnyUidButExemptOnes() throws Exception {
        var fake = fakeProcess();
        var action = plan().putNull("uid");
        action.putArray("exempt").add(7).add(2003);
        fake.uid(2003);
        var result = machine.act().at("/results/0");
        assertThat(result.get("result").asText()).isEqualTo("OTHER_USER");
        assertThat(result.get("uid").asLong()).isEqualTo(2003);
        fake.uid(2004);
        assertThat(result()).isEqualTo("SIGNALLED");
        assertThat(child.awaitExit()).isEqualTo(143);
    }

    @Test
    void protectedProgramIsNotSignalled() throws Exception {
        var server = Files.copy(Path.of("/bin/sleep"), folder.resolve("server"));
        var fake = fakeProcess();
        var files = plan().putArray("files");
        files.addObject()
                .put("device", (long) Files.getAttribute(server, "unix:dev"))
                .put("inode", (long) Files.getAttribute(server, "unix:ino"));
        assertThat(result()).isEqualTo("PROTECTED"); // it is unknown what it runs
        fake.exe(server);
        assertThat(result()).isEqualTo("PROTECTED");
        assertThat(child.isAlive()).isTrue();
        Files.delete(fake.file("exe"));
        fake.exe(folder.resolve("nowhere/server")); // another file of that name
        assertThat(result()).isEqualTo("SIGNALLED");
        assertThat(child.awaitExit()).isEqualTo(143);
    }

    @Test
    void expiredActionIsNotExecuted() throws Exception {
        fakeProcess();
        plan();
        machine.request.put("deadline", 359_999);
        assertThat(result()).isEqualTo("LATE");
        machine.request.put("deadline", 360_000).put("boot", "another");
        assertThat(result()).isEqualTo("LATE");
        assertThat(child.isAlive()).isTrue();
        machine.request.put("boot", PythonMachine.BOOT);
        assertThat(result()).isEqualTo("SIGNALLED");
        assertThat(child.awaitExit()).isEqualTo(143);
    }

    @Test
    void missingPrivilegeYieldsDenied() throws Exception {
        Requirements.root();
        fakeProcess();
        plan();
        machine.command =
                List.of("setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups", PythonMachine.PYTHON, "-");
        assertThat(result()).isEqualTo("DENIED");
        assertThat(child.isAlive()).isTrue();
    }

    private JsonNode observe() throws Exception {
        var processes = machine.observe().get("processes");
        assertThat(processes).hasSize(1);
        return processes.get(0);
    }

    /** The real child, of which the kernel shows what the test likes. */
    private FakeProc.FakeProcess fakeProcess() throws IOException {
        machine.request.putArray("terminations");
        var proc = machine.useFakeProc(folder.resolve("proc"));
        return proc.process(child.pid()).uid(1003).environ("GENV_ENVIRONMENT_ID=15971");
    }

    private ObjectNode plan() throws Exception {
        return machine.terminate(observe(), 1000);
    }

    private String result() throws Exception {
        return machine.act().at("/results/0/result").asText();
    }
}
