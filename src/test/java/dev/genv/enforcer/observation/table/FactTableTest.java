package dev.genv.enforcer.observation.table;

import static org.assertj.core.api.Assertions.assertThat;

import dev.genv.enforcer.enforcement.host.ObservedHost;
import dev.genv.enforcer.model.Snapshot;
import dev.genv.enforcer.observation.Observer;
import dev.genv.enforcer.testsupport.Requirements;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.Set;
import java.util.TreeMap;
import java.util.stream.Stream;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** The same facts through the observer alone and through the adapters of the same machine give the same observation. */
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
    void observerAndNodeObserveTheSame(FactRow row) throws Exception {
        var observed = observe(row, DescribedMachine::host);
        assertThat(observed.throughAdapter()).isEqualTo(observed.alone());
    }

    @ParameterizedTest
    @MethodSource("rows")
    void observerAndAgentObserveTheSame(FactRow row) throws Exception {
        var observed = observe(row, DescribedMachine::agentHost);
        var difference = row.difference;
        if (difference == null) {
            assertThat(observed.throughAdapter()).isEqualTo(observed.alone());
        } else {
            assertThat(observed.throughAdapter()).as(difference.why()).isNotEqualTo(observed.alone());
            difference.check().accept(observed.last());
        }
    }

    /** Composes a host with one of the adapters. */
    private interface Adapter {
        ObservedHost host(DescribedMachine machine) throws IOException;
    }

    /**
     * What was observed of the same machine.
     *
     * @param last through the adapter
     */
    private record Observed(String alone, String throughAdapter, Snapshot last) {}

    private Observed observe(FactRow row, Adapter adapter) throws Exception {
        Requirements.root();
        try (var machine = new DescribedMachine(folder)) {
            return observe(row, adapter, machine);
        }
    }

    private Observed observe(FactRow row, Adapter adapter, DescribedMachine machine) throws Exception {
        Observer observer = null;
        ObservedHost host = null;
        Snapshot alone = null;
        Snapshot throughAdapter = null;
        for (var step : row.steps) {
            step.change(machine);
            observer = observer == null ? new Observer(machine.settings()) : observer;
            host = host == null ? adapter.host(machine) : host;
            observer.request(Set.of(), true);
            alone = observer.observe(machine.facts(), Set.of(), true);
            throughAdapter = host.observe(Set.of());
        }
        var state = machine.state.toString();
        assertThat(problems(alone, state)).isEqualTo(row.problems);
        assertThat(alone.missing()).isEqualTo(row.missing);
        row.check.accept(alone);
        return new Observed(describe(alone, state), describe(throughAdapter, state), throughAdapter);
    }

    private List<String> problems(Snapshot observation, String state) {
        return observation.problems().stream()
                .map(problem -> "%s: %s"
                        .formatted(problem.code(), problem.detail())
                        .replace(state, "STATE")
                        .replace(folder.toString(), "FOLDER"))
                .toList();
    }

    private String describe(Snapshot observation, String state) {
        return String.join(
                "\n",
                List.of(
                        observation.processes().toString(),
                        observation.unlisted().processes().toString(),
                        observation.unlisted().memory().toString(),
                        observation.environments().toString(),
                        observation.devices().toString(),
                        observation.listedDevices().stream().sorted().toList().toString(),
                        new TreeMap<>(observation.uidsOfPids()).toString(),
                        String.valueOf(observation.subordinateUids().ownerOf(100_001L)),
                        observation.missing().stream().sorted().toList().toString(),
                        String.join("\n", problems(observation, state)),
                        observation.details().missingPrivileges().toString(),
                        String.valueOf(observation.details().readOnlyReason()),
                        String.valueOf(observation.details().driver()),
                        String.valueOf(observation.details().machine())));
    }
}
