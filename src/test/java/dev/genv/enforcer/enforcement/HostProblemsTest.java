package dev.genv.enforcer.enforcement;

import static org.assertj.core.api.Assertions.assertThat;

import dev.genv.enforcer.enforcement.CycleRecorder.HostProblems;
import dev.genv.enforcer.model.Fleet;
import dev.genv.enforcer.model.Problem;
import dev.genv.enforcer.model.ProblemCode;
import dev.genv.enforcer.model.Snapshot;
import java.util.List;
import java.util.Set;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

class HostProblemsTest {
    private static final Problem UNLISTED = new Problem(ProblemCode.GPU_UNLISTED, "9000 MiB on device 0");

    @Test
    void reportsUpToTheLimitUnchanged() {
        var all = entries(100);
        assertThat(reported(all)).isEqualTo(all);
    }

    @Test
    void cutsTheMostFrequentCodeAndCountsTheRest() {
        var all = Stream.concat(entries(200).stream(), Stream.of(UNLISTED)).toList();
        assertThat(reported(all))
                .hasSize(101)
                .startsWith(all.get(0), all.get(1))
                .contains(all.get(98))
                .doesNotContain(all.get(99))
                .endsWith(UNLISTED, new Problem(ProblemCode.MORE_PROBLEMS, "and 101 more"));
    }

    private static List<Problem> entries(int number) {
        return IntStream.range(0, number)
                .mapToObj(i -> new Problem(ProblemCode.ENTRY_UNREADABLE, "entry " + i))
                .toList();
    }

    private static List<Problem> reported(List<Problem> problems) {
        var snapshot = new Snapshot("here", List.of(), List.of(), List.of(), Set.of(), Set.of(), problems);
        return HostProblems.addTo(new Fleet(List.of(snapshot), false), List.of(), List.of())
                .snapshots()
                .getFirst()
                .problems();
    }
}
