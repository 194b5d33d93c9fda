package dev.genv.enforcer.observation.table;

import static org.assertj.core.api.Assertions.assertThat;

import dev.genv.enforcer.model.GpuProcess;
import dev.genv.enforcer.model.ProblemCode;
import dev.genv.enforcer.model.Snapshot;
import dev.genv.enforcer.observation.Observer;
import dev.genv.enforcer.testsupport.fake.FakeProc.FakeProcess;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The driver lists the pid that opened {@code /dev/nvidiactl} as long as any process has that file open, also after its exit. */
class ReusedPidTest {
    private static final long NOW = 100 * DescribedMachine.UPTIME;

    private DescribedMachine machine;
    private Observer observer;

    @BeforeEach
    void listAPid(@TempDir Path folder) throws IOException {
        machine = new DescribedMachine(folder);
        observer = new Observer(machine.settings());
        machine.listProcesses("GPU-0, 900, 9000\n", 0);
        machine.listDevices("0, GPU-0, 9000\n1, GPU-1, 0\n", 0);
        machine.driver("GPU-0");
    }

    @AfterEach
    void close() throws Exception {
        machine.close();
    }

    private Snapshot observe() throws IOException {
        return observer.observe(machine.facts(), Set.of(), true);
    }

    private FakeProcess bob(long startTime) throws IOException {
        return machine.process(900, DescribedMachine.BOB).startTime(startTime);
    }

    /** A process of which nobody can say whether it has exited. */
    private void unreadableBob(long startTime) throws IOException {
        Files.writeString(bob(startTime).file("stat"), "");
    }

    /** The tool lists a process on a device that it does not know, so it may not list every other process. */
    private void listIncompletely(String lines) throws IOException {
        machine.listProcesses(lines + "GPU-9, 901, 10\n", 0);
    }

    private static List<ProblemCode> codes(Snapshot snapshot) {
        return snapshot.problems().stream().map(problem -> problem.code()).toList();
    }

    @Test
    void processThatStartedWhileAnExitedOneWasListedIsNotTheListedOne() throws Exception {
        assertThat(observe().processes()).isEmpty();
        bob(NOW - 5);
        for (var i = 0; i < 3; i++) {
            var snapshot = observe();
            assertThat(snapshot.processes()).isEmpty();
            assertThat(codes(snapshot)).contains(ProblemCode.PID_REUSED);
        }
    }

    @Test
    void processWithThePidOfAnotherListedOneIsNotTheListedOne() throws Exception {
        bob(NOW - 9);
        assertThat(observe().processes()).hasSize(1);
        bob(NOW - 5);
        assertThat(observe().processes()).isEmpty();
        assertThat(observer.request(Set.of(), true).reusedPids()).containsExactly(900);
    }

    @Test
    void aFailedListingForgetsNothing() throws Exception {
        observe();
        machine.listProcesses("", 9);
        observe();
        machine.listProcesses("GPU-0, 900, 9000\n", 0);
        bob(NOW - 5);
        assertThat(observe().processes()).isEmpty();
    }

    @Test
    void anIncompleteListingForgetsNoPidOfTheLastCompleteOne() throws Exception {
        observe();
        listIncompletely("");
        observe();
        observe();
        machine.listProcesses("GPU-0, 900, 9000\n", 0);
        bob(NOW - 5);
        var snapshot = observe();
        assertThat(snapshot.processes()).isEmpty();
        assertThat(codes(snapshot)).contains(ProblemCode.PID_REUSED);
    }

    /** Otherwise the pids of all processes would be kept while a GPU is lost. */
    @Test
    void anIncompleteListingForgetsAPidThatOnlyIncompleteOnesHad() throws Exception {
        listIncompletely("GPU-0, 900, 9000\n");
        observe();
        listIncompletely("");
        observe();
        listIncompletely("GPU-0, 900, 9000\n");
        bob(NOW - 5);
        assertThat(observe().processes()).hasSize(1);
    }

    @Test
    void processIsTheListedOneAfterAListingWithoutThePid() throws Exception {
        observe();
        machine.listProcesses("", 0);
        observe();
        machine.listProcesses("GPU-0, 900, 9000\n", 0);
        bob(NOW - 5);
        var snapshot = observe();
        assertThat(snapshot.processes()).hasSize(1);
        assertThat(codes(snapshot)).doesNotContain(ProblemCode.PID_REUSED);
    }

    /** It is not known whether it was started before the tool listed its pid. */
    @Test
    void processThatStartedDuringTheListingCountsFromTheNextObservation() throws Exception {
        bob(NOW + 1);
        assertThat(observe().processes()).isEmpty();
        machine.ticks += 10;
        var snapshot = observe();
        assertThat(snapshot.processes()).hasSize(1);
        assertThat(codes(snapshot)).doesNotContain(ProblemCode.PID_REUSED);
    }

    @Test
    void processThatStartedDuringTheListingAndWasUnreadableIsTheListedOne() throws Exception {
        unreadableBob(NOW + 1);
        assertThat(codes(observe())).contains(ProblemCode.PROCESS_UNREADABLE);
        bob(NOW + 1);
        machine.ticks += 10;
        var snapshot = observe();
        assertThat(snapshot.processes()).hasSize(1);
        assertThat(codes(snapshot)).doesNotContain(ProblemCode.PID_REUSED);
    }

    @Test
    void anUnreadableProcessMakesTheServiceForgetNothing() throws Exception {
        observe();
        unreadableBob(NOW - 5);
        assertThat(codes(observe())).contains(ProblemCode.PROCESS_UNREADABLE);
        bob(NOW - 5);
        var snapshot = observe();
        assertThat(snapshot.processes()).isEmpty();
        assertThat(codes(snapshot)).contains(ProblemCode.PID_REUSED);
    }

    @Test
    void memoryOfAProcessThatHasExitedIsExplainedByNobody() throws Exception {
        // In the first observation it may just have exited. In the last one the search is made.
        for (var i = 0; i < 4; i++) {
            assertThat(codes(observe())).doesNotContain(ProblemCode.GPU_UNLISTED);
        }
        assertThat(codes(observe())).contains(ProblemCode.GPU_UNLISTED);
    }

    /** Its own use of the device is as that of any process that is not listed. */
    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void processWithThePidOfAnExitedOneIsFoundAsAHolder(boolean byAgent) throws Exception {
        var host = byAgent ? machine.agentHost() : machine.host();
        for (var i = 0; i < 4; i++) {
            assertThat(host.observe(Set.of()).processes()).isEmpty();
        }
        bob(1);
        machine.holdsGpu(900);
        host.observe(Set.of());
        var snapshot = host.observe(Set.of());
        assertThat(snapshot.processes()).isEmpty();
        assertThat(snapshot.unlisted().processes()).extracting(GpuProcess::pid).containsExactly(900);
    }
}
