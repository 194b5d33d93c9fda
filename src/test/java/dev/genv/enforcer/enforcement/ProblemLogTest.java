package dev.genv.enforcer.enforcement;

import static dev.genv.enforcer.testsupport.builder.HostBuilder.host;
import static org.assertj.core.api.Assertions.assertThat;

import dev.genv.enforcer.enforcement.ProblemLog.Changes;
import dev.genv.enforcer.model.Fleet;
import dev.genv.enforcer.model.Problem;
import dev.genv.enforcer.model.ProblemCode;
import dev.genv.enforcer.model.Snapshot;
import dev.genv.enforcer.policy.Plan.HostProblem;
import dev.genv.enforcer.testsupport.fake.FakeHost;
import java.util.List;
import java.util.Set;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

class ProblemLogTest {
    private final ProblemLog log = new ProblemLog(false);
    private final Snapshot observed = new FakeHost(host("here")).observe();

    @Test
    void anotherTextOfAnObservationIsAnotherProblem() {
        var first = new Problem(ProblemCode.ENTRY_UNREADABLE, "environment a has no pids");
        var second = new Problem(ProblemCode.ENTRY_UNREADABLE, "environment b has no pids");
        log(first);
        assertThat(log(second)).isEqualTo(changes(List.of(second), List.of(first)));
    }

    /** Each host has a problem of the whole service, so each new text would be two events of each host in each cycle. */
    @Test
    void theTextOfAProblemOfTheServiceCanChange() {
        var first = new Problem(ProblemCode.NOTIFICATION_FAILED, "mail: 451 4.3.0 try again, id 1");
        var webhook = new Problem(ProblemCode.NOTIFICATION_FAILED, "webhook: connection refused");
        assertThat(log(first, webhook)).isEqualTo(changes(List.of(first, webhook), List.of()));
        var second = new Problem(ProblemCode.NOTIFICATION_FAILED, "mail: 451 4.3.0 try again, id 2");
        assertThat(log(second, webhook)).isEqualTo(changes(List.of(), List.of()));
        var waiting = new Problem(ProblemCode.DATA_UNWRITABLE, "11 cycles wait for the disk");
        assertThat(log(webhook, waiting)).isEqualTo(changes(List.of(waiting), List.of(first)));
        assertThat(log(webhook, new Problem(ProblemCode.DATA_UNWRITABLE, "12 cycles wait for the disk")))
                .isEqualTo(changes(List.of(), List.of()));
    }

    private Changes log(Problem... problems) {
        return log.log(List.of(observed.withProblems(List.of(problems))));
    }

    private static Changes changes(List<Problem> began, List<Problem> ended) {
        return new Changes(ofHost(began), ofHost(ended));
    }

    private static List<HostProblem> ofHost(List<Problem> problems) {
        return problems.stream()
                .map(problem -> new HostProblem("here", problem))
                .toList();
    }

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
