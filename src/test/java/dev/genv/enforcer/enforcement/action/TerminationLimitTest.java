package dev.genv.enforcer.enforcement.action;

import static dev.genv.enforcer.testsupport.builder.GpuProcessBuilder.process;
import static org.assertj.core.api.Assertions.assertThat;

import dev.genv.enforcer.enforcement.host.ActionRecord;
import dev.genv.enforcer.enforcement.host.Outcome;
import dev.genv.enforcer.enforcement.host.Result;
import dev.genv.enforcer.model.SubordinateUids;
import dev.genv.enforcer.policy.Action;
import dev.genv.enforcer.policy.Action.Signal;
import dev.genv.enforcer.policy.Plan.PlannedAction;
import dev.genv.enforcer.testsupport.builder.GpuProcessBuilder;
import dev.genv.enforcer.testsupport.fake.FakeTime;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

/** How the termination limit of a cycle is shared. */
class TerminationLimitTest {
    private static final int LIMIT = 10;
    private static final long HEAVY_USER = 1001;
    private static final long OTHER_USER = 1002;

    private final FakeTime time = new FakeTime();
    private final TerminationLimit terminationLimit = new TerminationLimit(LIMIT, time.ticker());
    private final List<PlannedAction> due = new ArrayList<>();
    private Map<String, SubordinateUids> subordinateUids = Map.of();

    @Test
    void manyProcessesOfOneUserDoNotDelayThoseOfAnother() {
        addDue(1, 300, HEAVY_USER);
        cycle();
        addDue(999, 2, OTHER_USER);

        assertThat(cycle()).hasSize(LIMIT).contains(999, 1000);
    }

    @Test
    void signalsLongestWaitingProcessOfAUidFirst() {
        addDue(100, 15, HEAVY_USER);
        assertThat(cycle()).containsExactly(100, 101, 102, 103, 104, 105, 106, 107, 108, 109);
        addDue(1, 14, HEAVY_USER);
        assertThat(cycle()).contains(110, 111, 112, 113, 114);
    }

    /** Where the subordinate uids are not known, a user may have many uids: older ones are served before new ones. */
    @Test
    void aUidIsServedBeforeUidsThatCameLater() {
        addDueOfUids(100, 15, 200_000);
        addDueOfUids(300, 15, 200_000);
        addDue(1, 1, OTHER_USER);
        cycle();
        addDueOfUids(1000, 100, 300_000);
        assertThat(cycle()).contains(1);
    }

    @Test
    void subordinateUidsTakeTheTurnsOfTheirUser() {
        subordinateUids =
                Map.of("here", new SubordinateUids(List.of(new SubordinateUids.Range(HEAVY_USER, 200_000, 65_536))));
        addDue(1, 1, HEAVY_USER);
        addDueOfUids(100, 30, 200_000);
        addDue(1000, 30, OTHER_USER);

        for (var cycle = 0; cycle < 3; cycle++) {
            assertThat(cycle()).filteredOn(pid -> pid >= 1000).hasSize(LIMIT / 2);
        }
    }

    @Test
    void aUidThatIsSubordinateOnAnotherHostIsAUserOfItsOwn() {
        subordinateUids =
                Map.of("there", new SubordinateUids(List.of(new SubordinateUids.Range(HEAVY_USER, 200_000, 65_536))));
        addDueOfUids(100, LIMIT, 200_000);
        addDueOfUids(200, LIMIT, 200_000);

        assertThat(cycle()).allMatch(pid -> pid < 200);
    }

    @Test
    void uidWaitsAtMostOneTurnOfEachOtherUid() {
        for (var uid = 0; uid < 12; uid++) {
            addDue(1000 + 10 * uid, 5, 200_000 + uid);
        }
        cycle();
        addDue(1, 1, OTHER_USER);
        cycle();
        assertThat(cycle()).contains(1);
    }

    @Test
    void processesOfUnknownUidsShareOneTurn() {
        for (var pid = 1; pid <= 30; pid++) {
            addDue(process(pid).uidUnknown());
        }
        addDue(999, 1, OTHER_USER);
        assertThat(cycle()).hasSize(LIMIT).contains(999);
    }

    @Test
    void uidWithDeniedSignalsUsesOnlyItsOwnTurn() {
        addDue(1, 30, HEAVY_USER);
        addDue(100, 30, OTHER_USER);
        var deferred = terminationLimit.selectDeferred(due, subordinateUids);
        terminationLimit.record(due.stream()
                .filter(planned -> !deferred.contains(planned))
                .map(planned -> record(planned, Result.of(Outcome.DENIED)))
                .toList());
        time.pass(Duration.ofSeconds(10));

        assertThat(cycle()).filteredOn(pid -> pid >= 100).hasSize(LIMIT / 2);
    }

    /** Adds processes of one uid. */
    private void addDue(int firstPid, int number, long uid) {
        for (var i = 0; i < number; i++) {
            addDue(process(firstPid + i).uid(uid));
        }
    }

    /** Adds processes of which each has its own uid. */
    private void addDueOfUids(int firstPid, int number, long firstUid) {
        for (var i = 0; i < number; i++) {
            addDue(process(firstPid + i).uid(firstUid + i));
        }
    }

    private void addDue(GpuProcessBuilder process) {
        due.add(new PlannedAction(new Action.Terminate("here", process.build(), Signal.TERM), List.of(), true));
    }

    /** One cycle; those that were not held back are signalled, and gone. */
    private List<Integer> cycle() {
        var deferred = terminationLimit.selectDeferred(due, subordinateUids);
        var signalled =
                due.stream().filter(planned -> !deferred.contains(planned)).toList();
        terminationLimit.record(due.stream()
                .map(planned -> record(
                        planned,
                        deferred.contains(planned) ? Result.of(Outcome.SKIPPED_LIMIT) : Result.of(Outcome.SIGNALLED)))
                .toList());
        due.removeAll(signalled);
        time.pass(Duration.ofSeconds(10));
        return signalled.stream()
                .map(planned -> ((Action.Terminate) planned.action()).process().pid())
                .toList();
    }

    private static ActionRecord record(PlannedAction planned, Result result) {
        return new ActionRecord(planned, result, FakeTime.START);
    }
}
