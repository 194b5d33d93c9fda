package dev.genv.enforcer.remote.agent;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.genv.enforcer.model.GpuProcess;
import dev.genv.enforcer.model.GpuProcess.Immunity;
import dev.genv.enforcer.model.Problem;
import dev.genv.enforcer.model.ProblemCode;
import dev.genv.enforcer.model.Snapshot;
import dev.genv.enforcer.testsupport.Requirements;
import dev.genv.enforcer.testsupport.linux.Child;
import dev.genv.enforcer.testsupport.linux.CurrentProcess;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Which real processes are immune. */
@Timeout(600)
class AgentImmunityTest {
    private final Path folder;
    private final Machine machine;

    AgentImmunityTest(@TempDir Path folder) throws IOException {
        this.folder = folder;
        machine = new Machine(folder);
    }

    @Test
    void processOfExemptUserIsImmuneWithTheReason() throws Exception {
        try (var child = Child.withEnvironment(Map.of())) {
            machine.nvidiaSmi.process(0, child.pid(), "1");
            var snapshot =
                    machine.exemptUsers(CurrentProcess.name(), "nosuchuser").observe();
            assertThat(process(snapshot, child).immunity())
                    .isEqualTo(new Immunity(
                            Immunity.Kind.EXEMPT,
                            "it belongs to uid %d, which is exempt".formatted(CurrentProcess.uid())));
            assertThat(codes(snapshot)).containsExactly(ProblemCode.SETTING_USER_UNKNOWN);
        }
    }

    /** The kernel tells which file is run: neither its name nor a copy under the protected path's name matters. */
    @Test
    void onlyTheProtectedProgramOfRootIsImmune() throws Exception {
        Requirements.root();
        Files.setPosixFilePermissions(folder, PosixFilePermissions.fromString("rwxr-xr-x"));
        var program = copyProgram("server");
        Files.createSymbolicLink(folder.resolve("link"), Path.of("server"));
        try (var immunityCheck = Child.running(List.of(program.toString(), "600"), Map.of());
                var copy = Child.running(List.of(copyProgram("other/server").toString(), "600"), Map.of());
                var renamed = Child.running(
                        List.of("bash", "-c", "exec -a %s sleep 600".formatted(program)),
                        Map.of("PATH", "/usr/bin:/bin"));
                var users = Child.ofUser(65534, program, Map.of())) {
            for (var child : List.of(immunityCheck, copy, renamed, users)) {
                machine.nvidiaSmi.process(0, child.pid(), "1");
            }
            for (var path : List.of("server", "link")) {
                var snapshot =
                        machine.protectPrograms(folder.resolve(path).toString()).observe();
                assertThat(process(snapshot, immunityCheck).immunity())
                        .isEqualTo(new Immunity(Immunity.Kind.PROTECTED, "it runs " + folder.resolve(path)));
                for (var child : List.of(copy, renamed, users)) {
                    assertThat(process(snapshot, child).immunity()).isNull();
                }
                assertThat(codes(snapshot)).isEmpty();
            }
            var snapshot = machine.protectPrograms(program + "@nobody").observe();
            assertThat(process(snapshot, users).immunity()).isNotNull();
            Files.createLink(folder.resolve("another"), program);
            snapshot = machine.protectPrograms(folder.resolve("another").toString())
                    .observe();
            assertThat(process(snapshot, immunityCheck).immunity()).isNotNull();
            assertThat(process(snapshot, copy).immunity()).isNull();
        }
    }

    /** As a container does with a program of its host. */
    @Test
    void protectedProgramIsImmuneAtAnyMountPoint() throws Exception {
        Requirements.root();
        Files.setPosixFilePermissions(folder, PosixFilePermissions.fromString("rwxr-xr-x"));
        var program = copyProgram("server");
        var other = Files.createFile(folder.resolve("mps"));
        var mounted = "mount --bind '%s' '%s' && exec '%s' 600".formatted(program, other, other);
        try (var immunityCheck = Child.running(
                List.of("unshare", "--mount", "--propagation", "private", "sh", "-c", mounted),
                Map.of("PATH", "/usr/bin:/bin"))) {
            await().until(() -> Files.readString(Path.of("/proc/%d/comm".formatted(immunityCheck.pid())))
                    .equals("mps\n"));
            machine.nvidiaSmi.process(0, immunityCheck.pid(), "1");
            var agent = machine.protectPrograms(program.toString()).agent();
            var process = process(agent.observe(machine.python, Set.of()), immunityCheck);
            assertThat(process.immunity()).isEqualTo(new Immunity(Immunity.Kind.PROTECTED, "it runs " + program));
        }
    }

    private Path copyProgram(String name) throws IOException {
        var program = folder.resolve(name);
        Files.createDirectories(program.getParent());
        Files.setPosixFilePermissions(program.getParent(), PosixFilePermissions.fromString("rwxr-xr-x"));
        return Files.copy(Path.of("/bin/sleep"), program);
    }

    private static GpuProcess process(Snapshot snapshot, Child child) {
        return snapshot.processes().stream()
                .filter(process -> process.pid() == child.pid())
                .findFirst()
                .orElseThrow();
    }

    /** What an ordinary user may not do is not what a test of the rest is about. */
    private static List<ProblemCode> codes(Snapshot snapshot) {
        return snapshot.problems().stream()
                .map(Problem::code)
                .filter(code -> !code.equals(ProblemCode.MISSING_PRIVILEGE))
                .toList();
    }
}
