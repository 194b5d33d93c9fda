package dev.genv.enforcer.observation.table;

import static org.assertj.core.api.Assertions.assertThat;

import dev.genv.enforcer.model.GpuProcess;
import dev.genv.enforcer.model.Membership;
import dev.genv.enforcer.model.Snapshot;
import dev.genv.enforcer.model.SnapshotPart;
import dev.genv.enforcer.observation.table.FakeMachine.Hands;
import dev.genv.enforcer.testsupport.Requirements;
import java.nio.file.Path;
import java.util.List;
import java.util.Set;
import java.util.stream.Stream;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.MethodSource;

/** What the node and the agent show of the same machine gives the same observation: that of the row. */
@Timeout(600)
class FactTableTest {
    @TempDir
    Path folder;

    static Stream<FactRow> rows() {
        return Stream.of(
                        GpuRows.ROWS,
                        ProcessRows.ROWS,
                        MembershipRows.ROWS,
                        WorkloadRows.ROWS,
                        ImmunityRows.ROWS,
                        StateRows.ROWS)
                .flatMap(List::stream);
    }

    @ParameterizedTest
    @MethodSource("rows")
    void nodeAndAgentObserveTheSame(FactRow row) throws Exception {
        Requirements.root();
        var byNode = observe(row, "node", Hands.NODE);
        assertThat(problems(byNode, "node")).isEqualTo(row.problems);
        assertThat(byNode.missing()).isEqualTo(row.missing);
        row.check.accept(byNode);
        var byAgent = observe(row, "agent", Hands.AGENT);
        var difference = row.difference;
        if (difference == null) {
            assertThat(describe(byAgent, "agent")).isEqualTo(describe(byNode, "node"));
        } else {
            assertThat(describe(byAgent, "agent")).as(difference.why()).isNotEqualTo(describe(byNode, "node"));
            difference.check().accept(byAgent);
        }
    }

    /** How many of them are waited for depends on the time that the others take. */
    @ParameterizedTest
    @EnumSource
    void processesOfOneUserThatHangLeaveTimeForThoseOfAnother(Hands hands) throws Exception {
        try (var machine = new DescribedMachine(hands, folder.resolve("machine"))) {
            var lines = new StringBuilder("GPU-0, 818, 1\n");
            for (var pid = 812; pid < 818; pid++) {
                machine.process(pid, DescribedMachine.ALICE).hang("environ");
                lines.append("GPU-0, %d, 1\n".formatted(pid));
            }
            machine.process(818, DescribedMachine.BOB, "GENV_ENVIRONMENT_ID=b");
            machine.listProcesses(lines.toString(), 0);
            var seen = machine.host().observe(Set.of());
            assertThat(seen.processes())
                    .filteredOn(process -> process.membership().equals(new Membership.InEnvironment("b")))
                    .extracting(GpuProcess::pid)
                    .containsExactly(818);
            assertThat(seen.missing()).containsExactly(SnapshotPart.EVERY_ENVIRON);
            assertThat(problems(seen, "machine"))
                    .contains("MEMBERSHIP_UNKNOWN: process 812 is not checked: its environ does not answer")
                    .contains(
                            "MEMBERSHIP_UNKNOWN: process 817 is not checked: its environ cannot be read: no time was left"
                                    + " to wait for its answer")
                    .anyMatch(problem -> problem.startsWith("PROCESSES_UNREAD: "));
        }
    }

    /** Also those that are not waited for keep nothing waiting, in each observation anew. */
    @ParameterizedTest
    @EnumSource
    void processesOfSomeUsersWhoseStatsDoNotAnswerLeaveTimeForThoseOfAnother(Hands hands) throws Exception {
        try (var machine = new DescribedMachine(hands, folder.resolve("machine"))) {
            var lines = new StringBuilder();
            for (var pid = 812; pid < 832; pid++) {
                machine.process(pid, pid < 829 ? DescribedMachine.ALICE : pid).hang("stat");
                lines.append("GPU-0, %d, 1\n".formatted(pid));
            }
            for (var pid = 900; pid < 906; pid++) {
                machine.process(pid, DescribedMachine.BOB, "GENV_ENVIRONMENT_ID=b");
                lines.append("GPU-0, %d, 1\n".formatted(pid));
            }
            machine.listProcesses(lines.toString(), 0);
            var host = machine.host();
            for (var observation = 0; observation < 3; observation++) {
                var seen = host.observe(Set.of());
                assertThat(seen.processes())
                        .extracting(GpuProcess::pid)
                        .containsExactlyInAnyOrder(900, 901, 902, 903, 904, 905);
                assertThat(seen.processes())
                        .extracting(GpuProcess::membership)
                        .containsOnly(new Membership.InEnvironment("b"));
                assertThat(seen.missing()).contains(SnapshotPart.EVERY_PROCESS);
                assertThat(problems(seen, "machine"))
                        .filteredOn(problem -> problem.startsWith("PROCESS_UNREADABLE: process "))
                        .isNotEmpty();
            }
        }
    }

    private Snapshot observe(FactRow row, String name, Hands hands) throws Exception {
        try (var machine = new DescribedMachine(hands, folder.resolve(name))) {
            var steps = row.steps.iterator();
            steps.next().change(machine);
            var host = machine.host();
            var observed = host.observe(Set.of());
            while (steps.hasNext()) {
                steps.next().change(machine);
                observed = host.observe(Set.of());
            }
            return observed;
        }
    }

    private List<String> problems(Snapshot observation, String name) {
        var machine = folder.resolve(name);
        return observation.problems().stream()
                .map(problem -> "%s: %s"
                        .formatted(problem.code(), problem.detail())
                        .replace(machine.resolve("genv").toString(), "STATE")
                        .replace(machine.toString(), "FOLDER"))
                .toList();
    }

    private String describe(Snapshot observation, String name) {
        var machine = folder.resolve(name);
        return Facts.describe(observation)
                .replace(machine.resolve("genv").toString(), "STATE")
                .replace(machine.toString(), "FOLDER");
    }
}
