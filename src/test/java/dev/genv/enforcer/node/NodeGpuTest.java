package dev.genv.enforcer.node;

import static org.assertj.core.api.Assertions.assertThat;

import dev.genv.enforcer.enforcement.host.ObservedHost;
import dev.genv.enforcer.enforcement.host.UnreachableException;
import dev.genv.enforcer.linux.Libc;
import dev.genv.enforcer.model.GpuProcess;
import dev.genv.enforcer.model.GpuProcess.Immunity;
import dev.genv.enforcer.model.Membership;
import dev.genv.enforcer.model.Problem;
import dev.genv.enforcer.model.ProblemCode;
import dev.genv.enforcer.model.Snapshot;
import dev.genv.enforcer.model.SnapshotPart;
import dev.genv.enforcer.testsupport.NodeBuilder;
import dev.genv.enforcer.testsupport.fake.FakeNvidiaSmi;
import dev.genv.enforcer.testsupport.fake.FakeProc;
import dev.genv.enforcer.testsupport.linux.Child;
import dev.genv.enforcer.testsupport.linux.Fifo;
import dev.genv.enforcer.testsupport.state.StateFiles;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

@Timeout(600)
class NodeGpuTest {
    private static final long EXEMPT = 77;
    private static final long ALICE = 1000;
    private final Path state;
    private final List<Problem> problems = new ArrayList<>();
    private final Set<SnapshotPart> missing = EnumSet.noneOf(SnapshotPart.class);
    private final FakeNvidiaSmi smi;
    private final FakeProc proc;
    private final ObservedHost host;

    NodeGpuTest(@TempDir Path folder) throws IOException {
        smi = new FakeNvidiaSmi(folder.resolve("bin")).gpus(1);
        proc = new FakeProc(folder.resolve("proc"));
        proc.writeSelf("000001ffffffffff", "");
        Files.createDirectories(proc.hostRoot());
        state = folder.resolve("genv");
        host = new NodeBuilder(state, smi.path())
                .proc(proc.root())
                .exempt(Long.toString(EXEMPT))
                .host();
    }

    private Snapshot list() throws UnreachableException, InterruptedException {
        var snapshot = host.observe(Set.of());
        problems.clear();
        missing.clear();
        problems.addAll(snapshot.problems());
        missing.addAll(snapshot.missing());
        return snapshot;
    }

    /** Real processes, so that nvidia-smi lists them, with a fake past. */
    @Test
    void ignoresProcessStartedAfterTheListingBegan() throws Exception {
        try (var earlier = Child.withEnvironment(Map.of());
                var later = Child.withEnvironment(Map.of());
                var gone = Child.withEnvironment(Map.of())) {
            for (var child : List.of(earlier, later, gone)) {
                smi.process(0, child.pid(), "5");
            }
            var now = Libc.ticksSinceBoot();
            proc.process(earlier.pid()).startTime(now);
            proc.process(later.pid()).startTime(now + 1_000_000);
            var found = list();
            assertThat(found.listedDevices()).containsExactly(0);
            assertThat(found.processes()).extracting(GpuProcess::pid).containsExactly(earlier.pid());
            assertThat(problems).isEmpty();
            assertThat(missing).isEmpty();
        }
    }

    /** An environment with a Jupyter kernel has all processes searched. Those of Alice that hang then are on no GPU. */
    @Test
    void searchedProcessesThatHangLeaveReadersForListedOnes() throws Exception {
        new StateFiles(state)
                .env("kernel", ALICE, "alice", null, List.of(), List.of("one"))
                .device(0)
                .write();
        try (var child = Child.withEnvironment(Map.of())) {
            for (var pid = 999_999_900; pid < 999_999_909; pid++) {
                var searched = proc.process(pid).uid(ALICE);
                Files.delete(searched.file("cmdline"));
                Fifo.at(searched.file("cmdline"));
            }
            list();
            smi.process(0, child.pid(), "5");
            proc.process(child.pid()).uid(ALICE).environ("GENV_ENVIRONMENT_ID=a");
            assertThat(list().processes())
                    .extracting(GpuProcess::membership)
                    .containsExactly(new Membership.InEnvironment("a"));
            assertThat(problems).extracting(Problem::code).containsExactly(ProblemCode.KERNELS_UNKNOWN);
        }
    }

    @Test
    void immuneProcessIsListedWithTheReason() throws Exception {
        try (var exempt = Child.withEnvironment(Map.of());
                var other = Child.withEnvironment(Map.of())) {
            smi.process(0, exempt.pid(), "5").process(0, other.pid(), "5");
            proc.process(exempt.pid()).uid(EXEMPT);
            proc.process(other.pid());
            assertThat(list().processes())
                    .filteredOn(process -> process.immunity() != null)
                    .singleElement()
                    .satisfies(process -> {
                        assertThat(process.pid()).isEqualTo(exempt.pid());
                        assertThat(process.immunity())
                                .isNotNull()
                                .extracting(Immunity::kind)
                                .isEqualTo(Immunity.Kind.EXEMPT);
                    });
        }
    }

    /** GPU 0 falls off the bus and GPU 1 moves up: device 0 of the state is not the one that is there now. */
    @Test
    void changedGpuOrderMakesAttachmentsMissing() throws Exception {
        smi.gpus(2);
        list();
        assertThat(missing).isEmpty();
        smi.gpuLines("0, %s, 16384\n".formatted(FakeNvidiaSmi.uuid(1))).fault("exit 15");
        list();
        smi.noFault();

        list();
        assertThat(problems).extracting(Problem::code).containsExactly(ProblemCode.GPU_LOST, ProblemCode.DEVICES_MOVED);
        assertThat(missing).containsExactly(SnapshotPart.EVERY_PROCESS, SnapshotPart.ATTACHMENTS);
    }

    @Test
    void addedGpuIsNoProblem() throws Exception {
        for (var count : List.of(1, 3)) {
            smi.gpus(count).fault("exit 15");
            list();
            smi.noFault();
            assertThat(list().listedDevices()).hasSize(count);
        }
        assertThat(problems).isEmpty();
        assertThat(missing).isEmpty();
    }

    @Test
    void unlistedGpuIsLostUntilItReturns() throws Exception {
        smi.gpus(3);
        list();
        smi.gpus(2).fault("exit 15");
        list();
        smi.noFault();
        list();
        assertThat(problems).extracting(Problem::code).containsExactly(ProblemCode.GPU_LOST);
        assertThat(problems.getFirst().detail()).contains("2: " + FakeNvidiaSmi.uuid(2), "restart genv-enforcer");
        assertThat(missing).containsExactly(SnapshotPart.EVERY_PROCESS);

        problems.clear();
        missing.clear();
        smi.gpus(3);
        list();
        assertThat(problems).isEmpty();
        assertThat(missing).isEmpty();
    }

    @Test
    void unreadableProcessDoesNotAffectOthers() throws Exception {
        try (var strange = Child.withEnvironment(Map.of());
                var other = Child.withEnvironment(Map.of())) {
            smi.process(0, strange.pid(), "5").process(0, other.pid(), "5");
            Files.writeString(proc.process(strange.pid()).file("stat"), "what is this");
            proc.process(other.pid());
            assertThat(list().processes()).extracting(GpuProcess::pid).containsExactly(other.pid());
            assertThat(problems).extracting(Problem::code).containsExactly(ProblemCode.PROCESS_UNREADABLE);
            assertThat(missing).containsExactly(SnapshotPart.EVERY_PROCESS);
        }
    }

    @Test
    void failingToolIsReportedAndListsNothing() throws Exception {
        list();
        smi.fault("echo 'Failed to initialize NVML: Unknown Error'; exit 255");
        assertThat(list().processes()).isEmpty();
        assertThat(missing).containsExactly(SnapshotPart.PROCESSES);
        assertThat(problems).singleElement().satisfies(problem -> {
            assertThat(problem.code()).isEqualTo(ProblemCode.GPU_NEEDS_NEW_CONTAINER);
            assertThat(problem.detail())
                    .startsWith("nvidia-smi exited with 255: Failed to initialize NVML: Unknown Error");
        });
    }

    @Test
    void accessThatNeverWorkedNeedsAnotherContainerConfiguration() throws Exception {
        smi.fault("echo 'Failed to initialize NVML: Unknown Error'; exit 255");
        list();
        assertThat(missing).containsExactly(SnapshotPart.PROCESSES);
        assertThat(problems).extracting(Problem::code).containsExactly(ProblemCode.GPU_ACCESS_DENIED);
    }

    @Test
    void unreadableLineIsReportedAndTheRestIsListed() throws Exception {
        smi.process(FakeNvidiaSmi.uuid(0), "[Insufficient Permissions]", "[Insufficient Permissions]");
        assertThat(list().listedDevices()).containsExactly(0);
        assertThat(missing).containsExactly(SnapshotPart.EVERY_PROCESS);
        assertThat(problems).extracting(Problem::code).containsExactly(ProblemCode.GPU_PROCESS_HIDDEN);
    }

    @Test
    void ticksSinceBootUseTheClockOfStartTimes() throws IOException {
        var before = Libc.ticksSinceBoot();
        try (var child = Child.withEnvironment(Map.of())) {
            assertThat(child.startTime()).isBetween(before - 1, Libc.ticksSinceBoot() + 1);
        }
    }
}
