package dev.genv.enforcer.remote.agent;

import static dev.genv.enforcer.testsupport.ExpectedObservation.assertOneEnvironmentObserved;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.genv.enforcer.model.Environment;
import dev.genv.enforcer.model.GpuProcess;
import dev.genv.enforcer.model.Immunity;
import dev.genv.enforcer.model.Membership;
import dev.genv.enforcer.model.Problem;
import dev.genv.enforcer.model.ProblemCode;
import dev.genv.enforcer.model.ProcessId;
import dev.genv.enforcer.model.Snapshot;
import dev.genv.enforcer.model.SnapshotPart;
import dev.genv.enforcer.testsupport.Child;
import dev.genv.enforcer.testsupport.CurrentProcess;
import dev.genv.enforcer.testsupport.Requirements;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.UUID;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** The real script in each shell, on real processes; only the GPUs are fake. */
@Timeout(600)
class AgentObservationTest {
    private final Path folder;
    private final Machine machine;

    AgentObservationTest(@TempDir Path folder) throws IOException {
        this.folder = folder;
        machine = new Machine(folder);
    }

    @Test
    void observesProcessesAndAttachments() throws Exception {
        try (var child = Child.inEnvironment("15971")) {
            machine.nvidiaSmi.process(0, child.pid(), "1542").process(1, child.pid(), "[N/A]");
            machine.files()
                    .ownEnv("15971", "4g", child.pid())
                    .device(0, "15971")
                    .device(1)
                    .write();
            var observation = machine.observe();
            assertThat(observation.gpuSource()).isEqualTo("nvidia-smi");
            assertThat(observation.readOnlyReason()).isNull();
            assertThat(observation.ended()).isEmpty();
            var snapshot = observation.snapshot();
            assertThat(snapshot.host()).isEqualTo("gpu-1");
            assertOneEnvironmentObserved(snapshot, child);
            assertThat(snapshot.environments().getFirst().ownership().uids()).containsExactly(CurrentProcess.uid());
            assertComplete(snapshot);
        }
    }

    @Test
    void distinguishesOutsideFromUnknownMembership() throws Exception {
        try (var outside = Child.withEnvironment(Map.of());
                var listed = Child.withEnvironment(Map.of("GENV_ENVIRONMENT_ID", ""))) {
            machine.nvidiaSmi.process(0, outside.pid(), "1").process(0, listed.pid(), "1");
            machine.files()
                    .ownEnv("15971", null, listed.pid())
                    .device(0)
                    .device(1)
                    .write();
            var snapshot = machine.observe().snapshot();
            assertThat(process(snapshot, outside).membership()).isEqualTo(new Membership.Outside());
            assertThat(process(snapshot, listed).membership()).isInstanceOf(Membership.Unknown.class);
        }
    }

    @Test
    void environmentWithoutLiveProcessesIsNotListed() throws Exception {
        int pid;
        try (var child = Child.inEnvironment("15971")) {
            pid = child.pid();
        }
        machine.files().ownEnv("15971", null, pid).device(0, "15971").device(1).write();
        var snapshot = machine.observe().snapshot();
        assertThat(snapshot.environments()).isEmpty();
        assertThat(snapshot.devices())
                .hasSize(2)
                .allSatisfy(device -> assertThat(device.attachments()).isEmpty());
        assertComplete(snapshot);
    }

    @Test
    void machineWithoutStateIsComplete() throws Exception {
        assertComplete(machine.observe().snapshot());
        assertThat(machine.state.resolve("genv.lock")).doesNotExist();
        var absent = new Machine(Files.createDirectory(folder.resolve("other")));
        Files.delete(absent.state);
        assertComplete(absent.observe().snapshot());
        assertThat(absent.state).doesNotExist();
    }

    @Test
    void liveEnvironmentsWithoutDevicesAreIncomplete() throws Exception {
        try (var child = Child.inEnvironment("15971")) {
            machine.nvidiaSmi.process(0, child.pid(), "1");
            machine.files().ownEnv("15971", null, child.pid()).writeEnvs();
            assertThat(machine.observe().snapshot().missing()).containsExactly(SnapshotPart.ATTACHMENTS);
            machine.files().device(0).device(1).writeDevices();
            assertComplete(machine.observe().snapshot());
        }
    }

    @Test
    void reportsExitedProcesses() throws Exception {
        try (var child = Child.inEnvironment("15971")) {
            var alive = new ProcessId(child.pid(), child.startTime());
            var former = new ProcessId(child.pid(), child.startTime() - 1);
            ProcessId gone;
            try (var other = Child.inEnvironment("15971")) {
                gone = new ProcessId(other.pid(), other.startTime());
                assertThat(machine.observe(alive, gone).ended()).isEmpty();
            }
            assertThat(machine.observe(alive, former, gone).ended()).isEqualTo(Set.of(former, gone));
        }
    }

    @Test
    void identifiesTheMachineAndItsBoot() throws Exception {
        var boot = Files.readString(Path.of("/proc/sys/kernel/random/boot_id")).strip();
        assertThat(machine.observe().machine()).isEqualTo("0123456789abcdef0123456789abcdef " + boot);
        for (var nothing : List.of("", "\n", "uninitialized\n")) {
            Files.writeString(machine.etc.resolve("machine-id"), nothing);
            assertThat(machine.observe().machine()).as(nothing).isNull();
        }
        Files.delete(machine.etc.resolve("machine-id"));
        assertThat(machine.observe().machine()).isNull();
        var dbus = Files.createDirectories(folder.resolve("var/lib/dbus"));
        Files.writeString(dbus.resolve("machine-id"), "f".repeat(32));
        assertThat(machine.observe().machine()).startsWith("f".repeat(32) + " ");
    }

    /** The time is that of the state: what came later was not in it. */
    @Test
    void reportsWhenTheStateWasRead() throws Exception {
        var before = ticks();
        assertThat(machine.observe().ticks()).isBetween(before, ticks());
    }

    private static long ticks() throws IOException {
        return (long)
                (Double.parseDouble(Files.readString(Path.of("/proc/uptime")).split(" ", -1)[0]) * 100);
    }

    @Test
    void rereadsAccountsOnlyWhenTheyChange() throws Exception {
        try (var child = Child.inEnvironment("15971")) {
            machine.files()
                    .env("15971", CurrentProcess.uid(), "raz", null, child.pid())
                    .device(0, "15971")
                    .device(1)
                    .write();
            var agent = machine.agent();
            assertThat(dispute(agent)).contains("uid %d is user".formatted(CurrentProcess.uid()));
            assertThat(dispute(agent)).contains("uid %d is user".formatted(CurrentProcess.uid()));
            assertThat(machine.python.requests().getLast().input()).doesNotContain("PASSWD=''");
            Files.writeString(machine.etc.resolve("passwd"), "raz:x:%d:0::/:/bin/sh\n".formatted(CurrentProcess.uid()));
            assertThat(dispute(agent)).isNull();
            Files.delete(machine.etc.resolve("passwd"));
            var snapshot = agent.observe(machine.python, Set.of()).snapshot();
            assertThat(codes(snapshot)).containsExactly(ProblemCode.PASSWD_UNREADABLE);
            assertThat(snapshot.environments().getFirst().ownership().dispute()).isNull();
            Files.write(machine.etc.resolve("passwd"), new byte[3 << 20]);
            assertThat(codes(agent.observe(machine.python, Set.of()).snapshot()))
                    .containsExactly(ProblemCode.PASSWD_UNREADABLE);
        }
    }

    private @Nullable String dispute(Machine.AgentHost agent) throws Exception {
        var snapshot = agent.observe(machine.python, Set.of()).snapshot();
        return snapshot.environments().getFirst().ownership().dispute();
    }

    @Test
    void processOfExemptUserIsImmuneWithTheReason() throws Exception {
        try (var child = Child.withEnvironment(Map.of())) {
            machine.nvidiaSmi.process(0, child.pid(), "1");
            var snapshot = machine.exemptUsers(CurrentProcess.name(), "nosuchuser")
                    .observe()
                    .snapshot();
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
                var snapshot = machine.protectPrograms(folder.resolve(path).toString())
                        .observe()
                        .snapshot();
                assertThat(process(snapshot, immunityCheck).immunity())
                        .isEqualTo(new Immunity(Immunity.Kind.PROTECTED, "it runs " + folder.resolve(path)));
                for (var child : List.of(copy, renamed, users)) {
                    assertThat(process(snapshot, child).immunity()).isNull();
                }
                assertThat(codes(snapshot)).isEmpty();
            }
            var snapshot =
                    machine.protectPrograms(program + "@nobody").observe().snapshot();
            assertThat(process(snapshot, users).immunity()).isNotNull();
            Files.createLink(folder.resolve("another"), program);
            snapshot = machine.protectPrograms(folder.resolve("another").toString())
                    .observe()
                    .snapshot();
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
            var process = process(agent.observe(machine.python, Set.of()).snapshot(), immunityCheck);
            assertThat(process.immunity()).isEqualTo(new Immunity(Immunity.Kind.PROTECTED, "it runs " + program));
        }
    }

    @Test
    void programThatOthersCanReplaceIsNotProtected() throws Exception {
        Requirements.root();
        Files.setPosixFilePermissions(folder, PosixFilePermissions.fromString("rwxr-xr-x"));
        var program = copyProgram("server");
        var users = copyProgram("users");
        Files.setAttribute(users, "unix:uid", 65534);
        var open = copyProgram("open/server");
        Files.setPosixFilePermissions(open.getParent(), PosixFilePermissions.fromString("rwxrwxrwx"));
        Files.createSymbolicLink(open.resolveSibling("link"), program);
        Files.createSymbolicLink(folder.resolve("loop"), Path.of("loop"));
        var snapshot = machine.protectPrograms(
                        users.toString(),
                        open.toString(),
                        open.resolveSibling("link").toString(),
                        folder.resolve("nothing").toString(),
                        machine.etc.toString(),
                        folder.resolve("loop").toString())
                .observe()
                .snapshot();
        assertThat(snapshot.problems())
                .extracting(Problem::detail)
                .satisfiesExactly(
                        detail -> assertThat(detail).contains(users + " belongs to user 65534"),
                        detail -> assertThat(detail).contains("others can write " + open.getParent()),
                        detail -> assertThat(detail).contains("others can write " + open.getParent()),
                        detail -> assertThat(detail).contains("there is no such file on this host"),
                        detail -> assertThat(detail).contains("it is not a file"),
                        detail -> assertThat(detail).contains("there is no such file on this host"));
        assertThat(codes(snapshot)).containsOnly(ProblemCode.PROTECTED_UNUSABLE);
    }

    @Test
    void jupyterKernelKeepsTheEnvironmentAlive() throws Exception {
        // No other process of this machine has these.
        var one = UUID.randomUUID().toString();
        var two = UUID.randomUUID().toString();
        var three = UUID.randomUUID().toString();
        machine.files()
                .env("1", CurrentProcess.uid(), null, null, List.of(), List.of(one))
                .env("2", CurrentProcess.uid(), null, null, List.of(), List.of(two, two + "\nx"))
                .env("3", CurrentProcess.uid(), null, null, List.of(), List.of(three))
                .device(0)
                .device(1)
                .write();
        try (var first = startKernel("/run/kernel-%s.json".formatted(one));
                var second = startKernel("-f=kernel-%s.json".formatted(two));
                var none = startKernel(
                        "/run/kernel-%s.json.bak".formatted(three),
                        "/run/xkernel-%s.json".formatted(three),
                        "kernel-%s.json\nx".formatted(three))) {
            assertThat(List.of(first, second, none))
                    .allSatisfy(child -> assertThat(child.isAlive()).isTrue());
            var snapshot = machine.observe().snapshot();
            assertThat(snapshot.environments()).extracting(Environment::eid).containsExactly("1", "2");
            assertComplete(snapshot);
        }
        assertThat(machine.observe().snapshot().environments()).isEmpty();
    }

    /** It runs once it has become the shell: until then the kernel shows the arguments of the JVM's helper. */
    private static Child startKernel(String... arguments) throws IOException {
        var command = new ArrayList<>(List.of("sh", "-c", "sleep 600; :"));
        command.addAll(List.of(arguments));
        var child = Child.running(command, Map.of());
        await().until(() -> child.command().equals("sh"));
        return child;
    }

    @Test
    void searchesKernelsOfIdsInAnotherNotation() throws Exception {
        var id = UUID.randomUUID().toString();
        machine.files()
                .env("1", CurrentProcess.uid(), null, null, List.of(), List.of(id))
                .device(0)
                .device(1)
                .write();
        var envs = machine.state.resolve("envs.json");
        Files.writeString(envs, Files.readString(envs).replace("kernel_ids", "kernel\\u005fids"));
        try (var _ = startKernel("/run/kernel-%s.json".formatted(id))) {
            assertThat(machine.observe().snapshot().environments()).hasSize(1);
        }
        assertThat(machine.observe().snapshot().environments()).isEmpty();
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

    private static void assertComplete(Snapshot snapshot) {
        assertThat(codes(snapshot)).isEmpty();
        assertThat(snapshot.missing()).isEmpty();
    }

    /** What an ordinary user may not do is not what a test of the rest is about. */
    private static List<ProblemCode> codes(Snapshot snapshot) {
        return snapshot.problems().stream()
                .map(Problem::code)
                .filter(code -> !code.equals(ProblemCode.MISSING_PRIVILEGE))
                .toList();
    }
}
