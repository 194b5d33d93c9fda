package dev.genv.enforcer.observation.table;

import static org.assertj.core.api.Assertions.assertThat;

import dev.genv.enforcer.enforcement.host.Machine;
import dev.genv.enforcer.model.GpuProcess;
import dev.genv.enforcer.model.ProblemCode;
import dev.genv.enforcer.model.Snapshot;
import dev.genv.enforcer.observation.Observer;
import dev.genv.enforcer.testsupport.fake.FakeProc.FakeProcess;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** The driver lists the pid that opened {@code /dev/nvidiactl} as long as any process has that file open, also after its exit. */
class ReusedPidTest {
    private static final long NOW = 100 * DescribedMachine.UPTIME;

    private DescribedMachine machine;
    /** The agent, whose clock is a file. */
    private Machine hands;

    private Observer observer;

    @BeforeEach
    void listAPid(@TempDir Path folder) throws IOException {
        machine = new DescribedMachine(folder);
        hands = machine.agent();
        observer = new Observer(machine.node().settings());
        machine.listProcesses("GPU-0, 900, 9000\n", 0);
        machine.listDevices("0, GPU-0, 9000\n1, GPU-1, 0\n", 0);
        machine.driver("GPU-0");
    }

    @AfterEach
    void close() throws Exception {
        machine.close();
    }

    private Snapshot observe() throws Exception {
        return observer.observe(hands.observe(observer.request(Set.of(), true)), Set.of(), true);
    }

    private FakeProcess bob(long startTime) throws IOException {
        return machine.process(900, DescribedMachine.BOB).startTime(startTime);
    }

    private static List<ProblemCode> codes(Snapshot snapshot) {
        return snapshot.problems().stream().map(problem -> problem.code()).toList();
    }

    /**
     * At first, pid 900 is listed, and no process has it. {@code bob} gives it to a process of bob that was started so many clock ticks after
     * the listing; of an {@code unreadable} one nobody can say whether it has exited. An {@code incomplete} listing has a process on a device
     * that the tool does not know, so it may not show every other process.
     */
    @ParameterizedTest(name = "{0}")
    @CsvSource(delimiter = '|', textBlock = """
        it was started while an exited one was listed | observe, bob -5, observe, observe, observe | none, reused, reused, reused
        it has the pid of another listed one | bob -9, observe, bob -5, observe | listed, reused
        a failed listing forgets nothing | observe, fail, observe, list 900, bob -5, observe | none, failed, reused
        an incomplete listing forgets no pid of the last complete one | observe, incomplete, observe, observe, list 900, bob -5, observe | none, none, none, reused
        # otherwise the pids of all processes would be kept while a GPU is lost
        an incomplete listing forgets a pid that only incomplete ones had | incomplete 900, observe, incomplete, observe, incomplete 900, bob -5, observe | none, none, listed
        a listing without the pid forgets it | observe, list, observe, list 900, bob -5, observe | none, none, listed
        # it is not known whether it was started before the tool listed its pid
        it was started during the listing | bob 1, observe, later, observe | none, listed
        it was started during the listing and was unreadable | unreadable 1, observe, bob 1, later, observe | unreadable, listed
        an unreadable process makes the service forget nothing | observe, unreadable -5, observe, bob -5, observe | none, unreadable, reused
        """)
    void processIsTheListedOne(String name, String steps, String expected) throws Exception {
        var found = new ArrayList<String>();
        for (var step : steps.split(", ", -1)) {
            var words = step.split(" ", -1);
            var listed = words.length > 1 ? "GPU-0, 900, 9000\n" : "";
            switch (words[0]) {
                case "observe" -> found.add(describe(observe()));
                case "bob" -> bob(NOW + Integer.parseInt(words[1]));
                case "unreadable" ->
                    Files.writeString(bob(NOW + Integer.parseInt(words[1])).file("stat"), "");
                case "list" -> machine.listProcesses(listed, 0);
                case "incomplete" -> machine.listProcesses(listed + "GPU-9, 901, 10\n", 0);
                case "fail" -> machine.listProcesses("", 9);
                case "later" -> machine.proc.writeUptime(DescribedMachine.UPTIME + 1);
                default -> throw new IllegalArgumentException(step);
            }
        }
        assertThat(found).as(name).containsExactly(expected.split(", ", -1));
    }

    private String describe(Snapshot snapshot) {
        var codes = codes(snapshot);
        var isReused = codes.contains(ProblemCode.PID_REUSED);
        assertThat(observer.request(Set.of(), true).reusedPids()).hasSize(isReused ? 1 : 0);
        if (!snapshot.processes().isEmpty()) {
            return isReused ? "both" : "listed";
        }
        return isReused
                ? "reused"
                : codes.contains(ProblemCode.PROCESS_UNREADABLE)
                        ? "unreadable"
                        : codes.contains(ProblemCode.GPU_TOOL_FAILED) ? "failed" : "none";
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
