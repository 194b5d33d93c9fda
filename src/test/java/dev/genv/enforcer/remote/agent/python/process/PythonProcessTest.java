package dev.genv.enforcer.remote.agent.python.process;

import static dev.genv.enforcer.remote.agent.python.PythonMachine.bytes;
import static org.assertj.core.api.Assertions.assertThat;

import dev.genv.enforcer.model.Sha256;
import dev.genv.enforcer.remote.agent.python.PythonMachine;
import dev.genv.enforcer.testsupport.fake.FakeProc;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Facts about listed processes, which are fake: a test could not make the kernel show them. */
@Timeout(600)
class PythonProcessTest extends PythonProcessFixture {
    private static final String VARIABLE_A = "GENV_ENVIRONMENT_ID=a";

    @Test
    void deliversWhatTheKernelShows() throws Exception {
        var process = process(7).uid(1003).startTime(360_000).environ("PATH=/bin", VARIABLE_A);
        proc.writeDriver("NVRM version: x  535.129.03  y\nGCC\n");
        var facts = machine.observe();
        assertThat(facts.at("/machine/driver").asText()).isEqualTo("NVRM version: x  535.129.03  y");
        assertThat(facts.at("/machine/bootId").asText()).isEqualTo(PythonMachine.BOOT);
        assertThat(facts.at("/machine/beforeListing").asLong()).isEqualTo(360_000);
        assertThat(facts.at("/machine/beforeState").asLong()).isEqualTo(360_000);
        var seen = onlyProcess(facts);
        assertThat(seen.get("pid").asInt()).isEqualTo(7);
        assertThat(bytes(seen.at("/before/value"))).isEqualTo(Files.readString(process.file("stat")));
        assertThat(seen.get("after")).isEqualTo(seen.get("before"));
        assertThat(seen.at("/uid/value").asLong()).isEqualTo(1003);
        assertThat(seen.at("/environ/value/size").asLong()).isEqualTo(32);
        assertThat(seen.at("/environ/value/digest").asText()).isEmpty();
        assertThat(id(seen)).isEqualTo("a");
    }

    @Test
    void deliversAnyCommandName() throws Exception {
        for (var name : List.of("x) Z 1 (y", "a\nb", "\n@0 gone 7", "ä\u0001\u007f", ") S 1", "", "Uid:\t0")) {
            process(7).command(name).uid(1003).environ(VARIABLE_A);
            var seen = onlyProcess(machine.observe());
            assertThat(bytes(seen.at("/before/value")))
                    .contains(
                            "(" + new String(name.getBytes(StandardCharsets.UTF_8), StandardCharsets.ISO_8859_1) + ")");
            assertThat(seen.at("/uid/value").asLong()).isEqualTo(1003);
            assertThat(id(seen)).isEqualTo("a");
        }
    }

    @Test
    void deliversTheLastId() throws Exception {
        var process = process(7);
        assertId(process.environ(), "");
        assertId(process.environ("PATH=/bin", "x"), "");
        assertId(process.environ(VARIABLE_A, "GENV_ENVIRONMENT_ID=b", "X=" + VARIABLE_A), "b");
        assertId(process.environ(VARIABLE_A, "GENV_ENVIRONMENT_ID="), "");
        assertId(process.environ(VARIABLE_A, "X=\nGENV_ENVIRONMENT_ID=b", "\nGENV_ENVIRONMENT_ID=c"), "a");
        assertId(process.environ("GENV_ENVIRONMENT_ID=\n@0 {}\n\n"), "\n@0 {}\n\n");
        assertId(process.environ("XGENV_ENVIRONMENT_ID=a", "genv_environment_id=a"), "");
        assertId(process.environ((VARIABLE_A + "\0\0\0\nX").getBytes(StandardCharsets.UTF_8)), "a");
        assertId(process.environ(VARIABLE_A.getBytes(StandardCharsets.UTF_8)), "a");
        assertId(process.environ((VARIABLE_A + "\u00ff\0").getBytes(StandardCharsets.ISO_8859_1)), "a\u00ff");
    }

    private void assertId(FakeProc.FakeProcess process, String expected) throws Exception {
        assertThat(process).isNotNull();
        assertThat(id(onlyProcess(machine.observe()))).isEqualTo(expected);
    }

    @Test
    void readsTheFirstEightMebibytesOfAnEnviron() throws Exception {
        var process = process(7);
        assertId(process.environ("X=" + "x".repeat(3 << 20), VARIABLE_A, "Y=" + "y".repeat(3 << 20)), "a");
        assertId(process.environ("X=" + "x".repeat(9 << 20), VARIABLE_A), "");
        assertThat(onlyProcess(machine.observe()).at("/environ/value/size").asLong())
                .isEqualTo(8 << 20);
        assertId(process.environ("GENV_ENVIRONMENT_ID=" + "x".repeat(4096)), "x".repeat(4096));
        var longest = "GENV_ENVIRONMENT_ID=" + "x".repeat(1 << 20);
        assertId(process.environ(longest), "x".repeat(4096));
        assertThat(onlyProcess(machine.observe()).at("/environ/value/digest").asText())
                .isEqualTo(Sha256.hex("x".repeat(1 << 20).getBytes(StandardCharsets.UTF_8)));
    }

    @Test
    void unreadablePartIsAFailure() throws Exception {
        var process = process(7).environ(VARIABLE_A);
        Files.delete(process.file("environ"));
        assertThat(failure("environ")).isEqualTo("ABSENT");
        process.environ(VARIABLE_A);
        Files.writeString(process.file("status"), "Name:\tx\nUid:\t?\n");
        assertThat(failure("uid")).isEqualTo("OTHER");
        Files.delete(process.file("stat"));
        Files.createDirectory(process.file("stat"));
        assertThat(failure("before")).isEqualTo("OTHER");
        Files.delete(process.file("stat"));
        Files.writeString(process.file("stat"), "7 (x");
        assertThat(bytes(onlyProcess(machine.observe()).at("/before/value"))).isEqualTo("7 (x");
    }

    @Test
    void exitedProcessIsAbsentInAllParts() throws Exception {
        machine.setGpuProcesses(9);
        var seen = onlyProcess(machine.observe());
        for (var part : List.of("before", "uid", "environ", "executable", "after")) {
            assertThat(seen.at("/" + part + "/failure").asText()).as(part).isEqualTo("ABSENT");
        }
    }

    @Test
    void readsAnotherThreadWhenTheFirstHasExited() throws Exception {
        var process = process(7).state('Z').threads(3).withoutEnvironment();
        process.thread(7).state('Z').withoutEnvironment();
        process.thread(8).state('X').withoutEnvironment();
        process.thread(9).environ(VARIABLE_A).exe(Path.of("/bin/sleep"));
        var seen = onlyProcess(machine.observe());
        assertThat(id(seen)).isEqualTo("a");
        assertThat(seen.at("/executable/value/id/inode").asLong())
                .isEqualTo(Files.getAttribute(Path.of("/bin/sleep"), "unix:ino"));
    }

    /** A thread that exits shows an empty environ before it is a zombie. */
    @Test
    void readsAThreadThatHasItsMemory() throws Exception {
        var process = process(7).state('Z').threads(3).withoutEnvironment();
        process.thread(8).withoutEnvironment();
        process.thread(9).environ(VARIABLE_A);
        assertThat(id(onlyProcess(machine.observe()))).isEqualTo("a");
    }

    @Test
    void identifiesItsProgramUnderAnyName() throws Exception {
        machine.request.withArray("/programs").add("/bin/sleep");
        process(7).exe(Files.createSymbolicLink(folder.resolve("other"), Path.of("/bin/sleep")));
        process(8).exe(folder.resolve("elsewhere/sleep"));
        process(9).exe(Files.createFile(folder.resolve("users")));
        Files.setPosixFilePermissions(folder.resolve("users"), PosixFilePermissions.fromString("rwxrwxrwx"));
        process(10);
        var facts = machine.observe();
        var processes = facts.get("processes");
        assertThat(processes.at("/0/executable/value")).isEqualTo(facts.at("/programs/0/value"));
        assertThat(processes.at("/1/executable/failure").asText()).isEqualTo("UNTRUSTED");
        assertThat(processes.at("/2/executable/failure").asText()).isEqualTo("UNTRUSTED");
        assertThat(processes.at("/3/executable/failure").asText()).isEqualTo("ABSENT");
    }

    @Test
    void observesManyProcesses() throws Exception {
        for (var pid = 100; pid < 300; pid++) {
            process(pid).environ("GENV_ENVIRONMENT_ID=" + pid);
        }
        var processes = machine.observe().get("processes");
        assertThat(processes)
                .hasSize(200)
                .allSatisfy(process ->
                        assertThat(id(process)).isEqualTo(process.get("pid").asText()));
    }

    private String failure(String part) throws Exception {
        return onlyProcess(machine.observe()).at("/" + part + "/failure").asText();
    }
}
