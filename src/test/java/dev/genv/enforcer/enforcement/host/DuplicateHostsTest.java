package dev.genv.enforcer.enforcement.host;

import static dev.genv.enforcer.testsupport.builder.EnvBuilder.env;
import static dev.genv.enforcer.testsupport.builder.HostBuilder.host;
import static org.assertj.core.api.Assertions.assertThat;

import dev.genv.enforcer.model.Problem;
import dev.genv.enforcer.model.ProblemCode;
import dev.genv.enforcer.model.Snapshot;
import dev.genv.enforcer.testsupport.TableRow;
import dev.genv.enforcer.testsupport.fake.FakeHost;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

class DuplicateHostsTest {
    /** A line is a cycle: the hosts with the machine ids that they report, {@code ?} for none and {@code !} for no answer, and those that count. */
    private static final String ROWS = """
        a machine counts once under its first name
        gpu-1=m1 gpu-2=m2 alias=m1 → gpu-1 gpu-2

        the counted name stays the same, or its processes would be signalled twice
        gpu-1=! alias=m1 → alias
        gpu-1=m1 alias=m1 → alias
        gpu-1=m1 alias=! → nothing

        another name counts when the first is removed
        gpu-1=m1 alias=m1 → gpu-1
        alias=m1 → alias
        gpu-1=m1 alias=m1 → alias

        a name that moves to another machine counts by itself
        gpu-1=m1 alias=m1 → gpu-1
        gpu-1=m1 alias=m3 → gpu-1 alias
        gpu-1=m4 alias=m1 → gpu-1 alias

        machines without an id all count
        gpu-1=? gpu-2=? → gpu-1 gpu-2

        a known id is remembered
        gpu-1=m1 alias=m1 → gpu-1
        gpu-1=m1 alias=? → gpu-1
        gpu-1=? alias=m1 → gpu-1\
        """;

    private final DuplicateHosts duplicateHosts = new DuplicateHosts();

    static Stream<TableRow> rows() {
        return TableRow.in(ROWS);
    }

    @ParameterizedTest
    @MethodSource("rows")
    void machineCountsOnce(TableRow row) {
        Stream.concat(row.lines().stream(), Stream.of(row.expected())).forEach(line -> {
            var sides = List.of(line.split(" → ", -1));
            var counted = collapse(sides.getFirst()).stream()
                    .filter(snapshot -> !snapshot.environments().isEmpty())
                    .map(Snapshot::host)
                    .collect(Collectors.joining(" "));
            assertThat(counted.isEmpty() ? "nothing" : counted).as(line).isEqualTo(sides.getLast());
        });
    }

    @Test
    void anotherNameIsReportedAndLacksNothingAsLongAsTheMachineAnswers() {
        var alias = collapse("gpu-1=m1 alias=m1").getLast();
        assertThat(alias.isComplete()).isTrue();
        assertThat(alias.problems()).singleElement().satisfies(problem -> {
            assertThat(problem.code()).isEqualTo(ProblemCode.DUPLICATE_HOST);
            assertThat(problem.detail()).contains("gpu-1");
        });
        var silent = collapse("gpu-1=m1 alias=!").getLast();
        assertThat(silent.isComplete()).isTrue();
        assertThat(silent.isObservedCompletely()).isFalse();
        assertThat(collapse("gpu-1=! alias=m1")).noneMatch(Snapshot::isObservedCompletely);
    }

    private List<Snapshot> collapse(String hosts) {
        return duplicateHosts.collapse(Stream.of(hosts.split(" ", -1))
                .map(host -> host.split("=", -1))
                .map(host -> snapshot(host[0], host[1]))
                .toList());
    }

    private static Snapshot snapshot(String name, String machine) {
        return machine.equals("!")
                ? Snapshot.unseen(name, new Problem(ProblemCode.UNREACHABLE, "down"))
                : new FakeHost(host(name).with(env("a")))
                        .setMachine(machine.equals("?") ? null : machine)
                        .observe();
    }
}
