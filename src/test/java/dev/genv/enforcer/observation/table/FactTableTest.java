package dev.genv.enforcer.observation.table;

import static org.assertj.core.api.Assertions.assertThat;

import dev.genv.enforcer.enforcement.machine.ObservedHost;
import dev.genv.enforcer.observation.Observation;
import dev.genv.enforcer.observation.Observer;
import dev.genv.enforcer.testsupport.Requirements;
import java.nio.file.Path;
import java.util.List;
import java.util.Set;
import java.util.TreeMap;
import java.util.stream.Stream;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** The same facts through the observer alone and through an adapter of the same machine give the same observation. */
@Timeout(600)
class FactTableTest {
    @TempDir
    Path folder;

    static Stream<FactRow> rows() {
        return Stream.of(GpuRows.ROWS, ProcessRows.ROWS, MembershipRows.ROWS, ImmunityRows.ROWS, StateRows.ROWS)
                .flatMap(List::stream);
    }

    @ParameterizedTest
    @MethodSource("rows")
    void observerAndNodeObserveTheSame(FactRow row) throws Exception {
        Requirements.root();
        var machine = new DescribedMachine(folder);
        Observer observer = null;
        ObservedHost node = null;
        Observation alone = null;
        Observation throughNode = null;
        for (var step : row.steps) {
            step.change(machine);
            observer = observer == null ? new Observer(machine.settings()) : observer;
            node = node == null ? machine.host() : node;
            alone = observer.observe(machine.facts(), Set.of());
            throughNode = node.observe(Set.of());
        }
        var state = machine.state.toString();
        assertThat(problems(alone, state)).isEqualTo(row.problems);
        assertThat(alone.snapshot().missing()).isEqualTo(row.missing);
        row.check.accept(alone);
        assertThat(describe(throughNode, state)).isEqualTo(describe(alone, state));
    }

    private static List<String> problems(Observation observation, String state) {
        return observation.snapshot().problems().stream()
                .map(problem ->
                        "%s: %s".formatted(problem.code(), problem.detail()).replace(state, "STATE"))
                .toList();
    }

    private static String describe(Observation observation, String state) {
        var snapshot = observation.snapshot();
        return String.join(
                "\n",
                List.of(
                        snapshot.processes().toString(),
                        snapshot.environments().toString(),
                        snapshot.devices().toString(),
                        snapshot.listedDevices().stream().sorted().toList().toString(),
                        new TreeMap<>(snapshot.uidsOfPids()).toString(),
                        String.valueOf(snapshot.subordinateUids().ownerOf(100_001L)),
                        snapshot.missing().stream().sorted().toList().toString(),
                        String.join("\n", problems(observation, state)),
                        observation.missingPrivileges().toString(),
                        String.valueOf(observation.readOnlyReason())));
    }
}
