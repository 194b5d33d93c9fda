package dev.genv.enforcer.remote.agent;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import dev.genv.enforcer.model.GpuProcess;
import dev.genv.enforcer.model.GpuProcess.Immunity;
import dev.genv.enforcer.model.Membership;
import dev.genv.enforcer.model.Problem;
import dev.genv.enforcer.model.ProblemCode;
import dev.genv.enforcer.model.ProcessId;
import dev.genv.enforcer.model.Snapshot;
import dev.genv.enforcer.model.SnapshotPart;
import dev.genv.enforcer.remote.agent.HostMemory.HangBackoff;
import dev.genv.enforcer.testsupport.Requirements;
import dev.genv.enforcer.testsupport.fake.FakeProc;
import dev.genv.enforcer.testsupport.linux.Child;
import dev.genv.enforcer.testsupport.linux.CurrentProcess;
import dev.genv.enforcer.testsupport.linux.Fifo;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Processes as no test could make the kernel show them, and some of those that it does show. */
@Timeout(600)
class AgentProcessTest {
    private static final Membership SILENT = new Membership.Unknown("its environ does not answer");
    private static final String VARIABLE_A = "GENV_ENVIRONMENT_ID=a";
    private final Path folder;
    private final Machine machine;
    private final FakeProc proc;
    private final AgentHost agent;
    private final Set<Integer> listed = new TreeSet<>();

    AgentProcessTest(@TempDir Path folder) throws IOException {
        this.folder = folder;
        machine = new Machine(folder);
        proc = machine.useFakeProc(folder.resolve("proc"));
        agent = machine.agent();
    }

    private static Membership inEnvironment(String eid) {
        return new Membership.InEnvironment(eid);
    }

    @Test
    void omitsExitedAndLaterProcesses() throws Exception {
        process(7).startTime(360_001);
        process(8).state('Z');
        machine.setGpuProcesses(7, 8, 9);
        var observation = observe();
        assertThat(observation.processes()).isEmpty();
        assertThat(observation.missing()).isEmpty();
        assertThat(observation.problems()).isEmpty();
    }

    /** A process can lay its memory where nobody answers. Then it alone is not known. */
    @Test
    void silentProcessDoesNotDelayOthers() throws Exception {
        for (var pid : List.of(7, 9)) {
            var silent = process(pid);
            Files.delete(silent.file("environ"));
            Fifo.at(silent.file("environ"));
        }
        process(8).environ(VARIABLE_A);
        process(10).environ(VARIABLE_A);
        var observation = observe();
        assertThat(observation.processes())
                .extracting(GpuProcess::membership)
                .containsExactly(SILENT, inEnvironment("a"), SILENT, inEnvironment("a"));
        assertThat(observe().processes())
                .extracting(GpuProcess::membership)
                .containsExactly(SILENT, inEnvironment("a"), SILENT, inEnvironment("a"));
        assertThat(Machine.request(machine.python.requests().getLast()).path("skip"))
                .as("they are not read again at once")
                .extracting(JsonNode::intValue)
                .containsExactlyInAnyOrder(7, 9);
        Files.delete(folder.resolve("proc/7/environ"));
        process(7).environ(VARIABLE_A);
        machine.nanos.addAndGet(HangBackoff.SHORTEST.toNanos());
        assertThat(observe().processes())
                .extracting(GpuProcess::membership)
                .containsExactly(inEnvironment("a"), inEnvironment("a"), SILENT, inEnvironment("a"));
    }

    @Test
    void newProcessWithThePidOfASilentOneIsReadAgain() throws Exception {
        var silent = process(7);
        Files.delete(silent.file("environ"));
        Fifo.at(silent.file("environ"));
        assertThat(onlyProcess(observe()).membership()).isEqualTo(SILENT);
        machine.setGpuProcesses();
        assertThat(observe().processes()).isEmpty();
        Files.delete(silent.file("environ"));
        silent.startTime(2000).environ(VARIABLE_A);
        machine.setGpuProcesses(7);
        assertThat(onlyProcess(observe()).membership()).isEqualTo(SILENT);
        assertThat(onlyProcess(observe()).membership()).isEqualTo(inEnvironment("a"));
    }

    /** A process with unreadable arguments may be a kernel, so every environment with kernels counts as active. */
    @Test
    void hangingArgumentsKeepTheEnvironmentAlive() throws Exception {
        var silent = proc.process(7).arguments("python");
        Files.delete(silent.file("cmdline"));
        Fifo.at(silent.file("cmdline"));
        machine.files()
                .env("1", CurrentProcess.uid(), null, null, List.of(), List.of("one"))
                .device(0)
                .device(1)
                .write();
        for (var i = 0; i < 2; i++) {
            var snapshot = observe();
            assertThat(snapshot.environments()).hasSize(1);
            assertThat(snapshot.problems()).extracting(Problem::code).containsExactly(ProblemCode.KERNELS_UNKNOWN);
        }
        Files.delete(silent.file("cmdline"));
        silent.arguments("python");
        machine.nanos.addAndGet(HangBackoff.SHORTEST.toNanos());
        var snapshot = observe();
        assertThat(snapshot.environments()).isEmpty();
        assertThat(snapshot.problems()).isEmpty();
    }

    @Test
    void initAndKernelThreadsAreImmune() throws Exception {
        process(1).environ();
        process(7).kernelThread();
        assertThat(observe().processes())
                .extracting(GpuProcess::immunity)
                .containsExactly(
                        new Immunity(Immunity.Kind.PROTECTED, "it is the first process of the machine"),
                        new Immunity(Immunity.Kind.PROTECTED, "it is a kernel thread"));
    }

    @Test
    void requireHostPidMakesOtherPidNamespacesReadOnly() throws Exception {
        process(7).environ(VARIABLE_A);
        proc.pidNamespace(4026532281L);
        assertThat(observe().details().readOnlyReason()).isNull();
        var ofTheHost = new ProcessId(8, 1);
        assertThat(machine.observe(ofTheHost).details().ended()).containsExactly(ofTheHost);
        var observation = machine.requireHostPid().observe(ofTheHost);
        assertThat(observation.details().ended()).isEmpty();
        assertThat(observation.processes()).isEmpty();
        assertThat(observation.missing()).containsExactly(SnapshotPart.PROCESSES);
        assertThat(observation.details().missingPrivileges()).containsExactly("HOST_PID");
        assertThat(observation.details().readOnlyReason()).contains("not in the host's PID namespace");
        assertThat(observation.problems()).extracting(Problem::code).containsExactly(ProblemCode.MISSING_PRIVILEGE);
    }

    @Test
    void reportsMissingPrivilegesWithoutRoot() throws Exception {
        Requirements.root();
        Files.setPosixFilePermissions(folder, PosixFilePermissions.fromString("rwxr-xr-x"));
        var ordinary = new LocalPython("setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups");
        try (var child = Child.inEnvironment("a")) {
            machine.nvidiaSmi.process(0, child.pid(), "1");
            machine.useRealProc();
            Files.setPosixFilePermissions(machine.state, PosixFilePermissions.fromString("rwxr-xr-x"));
            var observation = machine.agent().observe(ordinary, Set.of());
            assertThat(observation.details().missingPrivileges())
                    .containsExactly("SYS_PTRACE", "DAC_READ_SEARCH", "KILL", "STATE_WRITE");
            assertThat(onlyProcess(observation).membership()).isEqualTo(Membership.NOT_PERMITTED);
            assertThat(observation.problems())
                    .filteredOn(problem -> problem.code().equals(ProblemCode.MISSING_PRIVILEGE))
                    .extracting(Problem::detail)
                    .contains(
                            "KILL: processes of other users cannot be signalled: log in as root, or let sudo give it");
            assertThat(machine.auditOnly()
                            .agent()
                            .observe(ordinary, Set.of())
                            .details()
                            .missingPrivileges())
                    .containsExactly("SYS_PTRACE", "DAC_READ_SEARCH");
        }
    }

    private FakeProc.FakeProcess process(int pid) throws IOException {
        listed.add(pid);
        machine.setGpuProcesses(listed.stream().mapToInt(Integer::intValue).toArray());
        return proc.process(pid);
    }

    private Snapshot observe() throws Exception {
        return agent.observe(machine.python, Set.of());
    }

    private static GpuProcess onlyProcess(Snapshot observation) {
        assertThat(observation.processes()).hasSize(1);
        return observation.processes().getFirst();
    }
}
