package dev.genv.enforcer.remote.agent;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import dev.genv.enforcer.model.Environment;
import dev.genv.enforcer.model.GpuProcess;
import dev.genv.enforcer.model.Immunity;
import dev.genv.enforcer.model.Membership;
import dev.genv.enforcer.model.Problem;
import dev.genv.enforcer.model.ProblemCode;
import dev.genv.enforcer.model.ProcessId;
import dev.genv.enforcer.model.SnapshotPart;
import dev.genv.enforcer.observation.Observation;
import dev.genv.enforcer.testsupport.Child;
import dev.genv.enforcer.testsupport.CurrentProcess;
import dev.genv.enforcer.testsupport.FakeProc;
import dev.genv.enforcer.testsupport.Fifo;
import dev.genv.enforcer.testsupport.Requirements;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Processes as no test could make the kernel show them, and some of those that it does show. */
@Timeout(600)
class AgentProcessTest {
    private static final Membership SILENT = new Membership.Unknown("its environ does not answer");
    private static final Membership NOT_OBSERVED =
            new Membership.Unknown("its environ is not available at this moment");
    private static final String VARIABLE_A = "GENV_ENVIRONMENT_ID=a";
    private final Path folder;
    private final Machine machine;
    private final FakeProc proc;
    private final Machine.AgentHost agent;
    private final Set<Integer> listed = new TreeSet<>();

    AgentProcessTest(@TempDir Path folder) throws IOException {
        this.folder = folder;
        machine = new Machine(folder);
        proc = machine.useFakeProc(folder.resolve("proc"));
        agent = machine.agent();
    }

    @Test
    void readsDataOfTheKernel() throws Exception {
        process(7).uid(1003).startTime(360_000).environ(VARIABLE_A);
        proc.writeDriver(
                "NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.129.03  Thu Oct 19 18:56:32 UTC 2023\nGCC\n");
        var observation = observe();
        assertThat(observation.driver()).isEqualTo("535.129.03");
        assertThat(observation.ticks()).isEqualTo(360_000);
        assertThat(observation.machine()).isEqualTo("0123456789abcdef0123456789abcdef " + Machine.BOOT);
        var seen = observation.snapshot().processes().getFirst();
        assertThat(seen.uid()).isEqualTo(1003);
        assertThat(seen.id().startTime()).isEqualTo(360_000);
        assertThat(seen.command()).isEqualTo("python");
        assertThat(seen.membership()).isEqualTo(new Membership.InEnvironment("a"));
        assertThat(observation.snapshot().missing()).isEmpty();
    }

    @Test
    void acceptsAnyCharacterInACommandName() throws Exception {
        var names =
                List.of("x) Z 1 (y", "a\nb", "\n@0 gone 7", "\\n$(id)`", "ä\u0001\u007f", ") S 1", "", " ", "Uid:\t0");
        for (var name : names) {
            process(7).command(name).uid(1003).environ(VARIABLE_A);
            var seen = onlyProcess(observe());
            assertThat(seen.command()).isEqualTo(name);
            assertThat(seen.uid()).isEqualTo(1003);
            assertThat(seen.membership()).isEqualTo(new Membership.InEnvironment("a"));
        }
    }

    @Test
    void acceptsAnyContentInTheEnviron() throws Exception {
        var process = process(7);
        assertMembership(process.environ(), new Membership.Outside());
        assertMembership(process.environ("PATH=/bin", "x"), new Membership.Outside());
        assertMembership(process.environ(VARIABLE_A, "GENV_ENVIRONMENT_ID=b", "X=" + VARIABLE_A), inEnvironment("b"));
        assertMembership(process.environ(VARIABLE_A, "GENV_ENVIRONMENT_ID="), new Membership.Outside());
        assertMembership(
                process.environ(VARIABLE_A, "X=\nGENV_ENVIRONMENT_ID=b", "\nGENV_ENVIRONMENT_ID=c"),
                inEnvironment("a"));
        assertMembership(process.environ("GENV_ENVIRONMENT_ID=\n@0 denied 7\n\n"), inEnvironment("\n@0 denied 7\n\n"));
        assertMembership(process.environ("GENV_ENVIRONMENT_ID=ä"), inEnvironment("ä"));
        assertMembership(process.environ("XGENV_ENVIRONMENT_ID=a", "genv_environment_id=a"), new Membership.Outside());
        assertMembership(
                process.environ((VARIABLE_A + "\0\0\0\nX").getBytes(StandardCharsets.UTF_8)), inEnvironment("a"));
        assertMembership(process.environ(VARIABLE_A.getBytes(StandardCharsets.UTF_8)), inEnvironment("a"));
        assertMembership(
                process.environ((VARIABLE_A + "\u00ff\0").getBytes(StandardCharsets.ISO_8859_1)),
                inEnvironment("not-utf-8:61ff"));
    }

    @Test
    void readsEnvironOfAnyLength() throws Exception {
        var process = process(7);
        var most = "a".repeat(4096);
        assertMembership(process.environ("GENV_ENVIRONMENT_ID=" + most), inEnvironment(most));
        assertMembership(
                process.environ("X=" + "x".repeat(3 << 20), VARIABLE_A, "Y=" + "y".repeat(3 << 20)),
                inEnvironment("a"));
        assertMembership(
                process.environ(Stream.generate(() -> VARIABLE_A).limit(200_000).toArray(String[]::new)),
                inEnvironment("a"));
        process.environ("GENV_ENVIRONMENT_ID=" + "x".repeat(1 << 20));
        assertThat(onlyProcess(observe()).membership())
                .isInstanceOfSatisfying(
                        Membership.InEnvironment.class,
                        named -> assertThat(named.eid()).startsWith("too-long:xxx"));
        assertMembership(process.environ("X=" + "x".repeat(9 << 20), VARIABLE_A), new Membership.Outside());
    }

    private void assertMembership(FakeProc.FakeProcess process, Membership expected) throws Exception {
        assertThat(process).isNotNull();
        assertThat(onlyProcess(observe()).membership()).isEqualTo(expected);
    }

    private static Membership inEnvironment(String eid) {
        return new Membership.InEnvironment(eid);
    }

    /** With fewer files open, other users' processes, or in another moment: there is no answer, and that is no answer. */
    @Test
    void unreadableProcessHasUnknownMembership() throws Exception {
        process(7).withoutEnvironment();
        assertThat(onlyProcess(observe()).membership()).isEqualTo(NOT_OBSERVED);
        var process = process(7);
        Files.delete(process.file("environ"));
        assertThat(onlyProcess(observe()).membership())
                .isEqualTo(new Membership.Unknown("its environ cannot be read: No such file or directory"));
        process.environ(VARIABLE_A);
        Files.writeString(process.file("status"), "Name:\tx\nUid:\t?\n");
        assertThat(onlyProcess(observe()).membership())
                .isEqualTo(new Membership.Unknown("its real uid cannot be read"));
        Files.writeString(process.file("stat"), "7 (x) S 1");
        var observation = observe();
        assertThat(observation.snapshot().processes()).isEmpty();
        assertThat(observation.snapshot().missing()).containsExactly(SnapshotPart.EVERY_PROCESS);
        assertThat(observation.snapshot().problems())
                .extracting(Problem::code)
                .containsExactly(ProblemCode.PROCESS_UNREADABLE);
    }

    @Test
    void omitsExitedAndLaterProcesses() throws Exception {
        process(7).startTime(360_001);
        process(8).state('Z');
        machine.setGpuProcesses(7, 8, 9);
        var observation = observe();
        assertThat(observation.snapshot().processes()).isEmpty();
        assertThat(observation.snapshot().missing()).isEmpty();
        assertThat(observation.snapshot().problems()).isEmpty();
    }

    /** It is very much alive, and another thread knows its environment. */
    @Test
    void readsEnvironFromAnotherThreadWhenTheFirstHasExited() throws Exception {
        var process = process(7).state('Z').threads(3).withoutEnvironment();
        process.thread(7).state('Z').withoutEnvironment();
        process.thread(8).state('X').withoutEnvironment();
        process.thread(9).environ(VARIABLE_A);
        assertThat(onlyProcess(observe()).membership()).isEqualTo(inEnvironment("a"));
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
        assertThat(observation.snapshot().processes())
                .extracting(GpuProcess::membership)
                .containsExactly(SILENT, inEnvironment("a"), SILENT, inEnvironment("a"));
        assertThat(observe().snapshot().processes())
                .extracting(GpuProcess::membership)
                .containsExactly(SILENT, inEnvironment("a"), SILENT, inEnvironment("a"));
        assertThat(Machine.request(machine.python.requests().getLast()).path("skip"))
                .as("they are not read again at once")
                .extracting(JsonNode::intValue)
                .containsExactlyInAnyOrder(7, 9);
        Files.delete(folder.resolve("proc/7/environ"));
        process(7).environ(VARIABLE_A);
        machine.nanos.addAndGet(HangBackoff.SHORTEST.toNanos());
        assertThat(observe().snapshot().processes())
                .extracting(GpuProcess::membership)
                .containsExactly(inEnvironment("a"), inEnvironment("a"), SILENT, inEnvironment("a"));
    }

    @Test
    void newProcessWithThePidOfASilentOneIsReadAgain() throws Exception {
        var silent = process(7);
        Files.delete(silent.file("environ"));
        Fifo.at(silent.file("environ"));
        assertThat(onlyProcess(observe()).membership()).isEqualTo(SILENT);
        Files.delete(silent.file("environ"));
        silent.startTime(2000).environ(VARIABLE_A);
        assertThat(onlyProcess(observe()).membership()).isEqualTo(SILENT);
        assertThat(onlyProcess(observe()).membership()).isEqualTo(inEnvironment("a"));
    }

    /** Whoever does not tell his arguments may be a kernel; all that live by kernels are taken for alive. */
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
            var snapshot = observe().snapshot();
            assertThat(snapshot.environments()).hasSize(1);
            assertThat(snapshot.problems()).extracting(Problem::code).containsExactly(ProblemCode.KERNELS_UNKNOWN);
        }
        Files.delete(silent.file("cmdline"));
        silent.arguments("python");
        machine.nanos.addAndGet(HangBackoff.SHORTEST.toNanos());
        var snapshot = observe().snapshot();
        assertThat(snapshot.environments()).isEmpty();
        assertThat(snapshot.problems()).isEmpty();
    }

    /** Users choose how many processes there are and how long their arguments are. */
    @Test
    void searchesOnlyTheBeginningOfLongArguments() throws Exception {
        proc.process(7).arguments("x".repeat(32 << 10), "/run/kernel-one.json");
        proc.process(8).arguments("x".repeat(64 << 10), "/run/kernel-two.json");
        machine.files()
                .env("1", CurrentProcess.uid(), null, null, List.of(), List.of("one"))
                .env("2", CurrentProcess.uid(), null, null, List.of(), List.of("two"))
                .device(0)
                .device(1)
                .write();
        var snapshot = observe().snapshot();
        assertThat(snapshot.problems()).isEmpty();
        assertThat(snapshot.environments()).extracting(Environment::eid).containsExactly("1");
    }

    @Test
    void initAndKernelThreadsAreImmune() throws Exception {
        process(1).environ();
        process(7).kernelThread();
        assertThat(observe().snapshot().processes())
                .extracting(GpuProcess::immunity)
                .containsExactly(
                        new Immunity(Immunity.Kind.PROTECTED, "it is the first process of the machine"),
                        new Immunity(Immunity.Kind.PROTECTED, "it is a kernel thread"));
    }

    /** A file that may not be looked at is none of those that may; one of which nothing at all is known may be any. */
    @Test
    void identifiesProgramByNameWhenItsFileDiffers() throws Exception {
        Requirements.root();
        Files.setPosixFilePermissions(folder, PosixFilePermissions.fromString("rwxr-xr-x"));
        var server = Files.copy(Path.of("/bin/sleep"), folder.resolve("server"));
        process(7).uid(0).exe(server);
        process(8).uid(0).exe(folder.resolve("elsewhere/server"));
        process(9).uid(0).exe(Path.of("/bin/sleep"));
        process(10).uid(0);
        process(11).uid(1003);
        var snapshot = machine.protectPrograms(server.toString()).observe().snapshot();
        assertThat(snapshot.processes())
                .extracting(process ->
                        process.immunity() == null ? null : process.immunity().reason())
                .containsExactly(
                        "it runs " + server,
                        null,
                        null,
                        "it is unknown whether it runs a protected program: No such file or directory",
                        null);
    }

    @Test
    void requireHostPidMakesOtherPidNamespacesReadOnly() throws Exception {
        process(7).environ(VARIABLE_A);
        proc.pidNamespace(4026532281L);
        assertThat(observe().readOnlyReason()).isNull();
        var ofTheHost = new ProcessId(8, 1);
        assertThat(machine.observe(ofTheHost).ended()).containsExactly(ofTheHost);
        var observation = machine.requireHostPid().observe(ofTheHost);
        assertThat(observation.ended()).isEmpty();
        assertThat(observation.snapshot().processes()).isEmpty();
        assertThat(observation.snapshot().missing()).containsExactly(SnapshotPart.PROCESSES);
        assertThat(observation.missingPrivileges()).containsExactly("HOST_PID");
        assertThat(observation.readOnlyReason()).contains("not in the host's PID namespace");
        assertThat(observation.snapshot().problems())
                .extracting(Problem::code)
                .containsExactly(ProblemCode.MISSING_PRIVILEGE);
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
            assertThat(observation.missingPrivileges())
                    .containsExactly("SYS_PTRACE", "DAC_READ_SEARCH", "KILL", "STATE_WRITE");
            assertThat(onlyProcess(observation).membership()).isEqualTo(Membership.NOT_PERMITTED);
            assertThat(observation.snapshot().problems())
                    .filteredOn(problem -> problem.code().equals(ProblemCode.MISSING_PRIVILEGE))
                    .extracting(Problem::detail)
                    .contains(
                            "KILL: processes of other users cannot be signalled: log in as root, or let sudo give it");
            assertThat(machine.auditOnly().agent().observe(ordinary, Set.of()).missingPrivileges())
                    .containsExactly("SYS_PTRACE", "DAC_READ_SEARCH");
        }
    }

    /** As many as a large machine could have. */
    @Test
    void observesManyProcessesAtOnce() throws Exception {
        for (var pid = 100; pid < 300; pid++) {
            process(pid).environ("GENV_ENVIRONMENT_ID=" + pid);
        }
        var observation = observe();
        assertThat(observation.snapshot().missing()).isEmpty();
        assertThat(observation.snapshot().processes())
                .hasSize(200)
                .allMatch(process -> process.names("" + process.pid()));
    }

    private FakeProc.FakeProcess process(int pid) throws IOException {
        listed.add(pid);
        machine.setGpuProcesses(listed.stream().mapToInt(Integer::intValue).toArray());
        return proc.process(pid);
    }

    private Observation observe() throws Exception {
        return agent.observe(machine.python, Set.of());
    }

    private static GpuProcess onlyProcess(Observation observation) {
        assertThat(observation.snapshot().processes()).hasSize(1);
        return observation.snapshot().processes().getFirst();
    }
}
