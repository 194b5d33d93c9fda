package dev.genv.enforcer.observation.table;

import static dev.genv.enforcer.observation.table.DescribedMachine.ALICE;
import static dev.genv.enforcer.observation.table.DescribedMachine.device;
import static dev.genv.enforcer.observation.table.DescribedMachine.env;
import static dev.genv.enforcer.observation.table.FactRow.row;
import static org.assertj.core.api.Assertions.assertThat;

import dev.genv.enforcer.model.Membership;
import dev.genv.enforcer.model.Membership.MembershipSource;
import dev.genv.enforcer.model.Snapshot;
import dev.genv.enforcer.testsupport.fake.FakeProc.FakeProcess;
import java.io.IOException;
import java.util.List;
import java.util.function.Consumer;

/** A listed process that has overwritten its environ. Environment a of alice is active. */
final class MembershipRows {
    private static final String ID = "GENV_ENVIRONMENT_ID=";
    private static final String SCOPE = "/user.slice/user-1003.slice/session-3.scope";
    private static final String PROBLEM =
            "MEMBERSHIP_UNKNOWN: process 812 is not checked: it has overwritten its environ, and ";
    private static final String NOTHING_FOUND =
            PROBLEM + "neither its ancestors nor its session or cgroup show to which environment it belongs";

    static final List<FactRow> ROWS = List.of(
            row("an overwritten environ in which an id is still readable", machine -> {
                        overwritten(machine, 1).environ("title", ID + "a");
                    })
                    .problem(NOTHING_FOUND),
            row("an environ that was intact in an earlier observation", _ -> {})
                    .then(machine -> {
                        machine.process(812, ALICE, ID + "a").overwrite();
                    })
                    .check(membership("a", MembershipSource.EARLIER)),
            row("an ancestor that names an environment", machine -> {
                        related(machine, ALICE, ID + "b");
                        overwritten(machine, 900).session(900);
                    })
                    .check(membership("b", MembershipSource.ANCESTOR)),
            row("a listed ancestor, and a process of its session that names the environment", machine -> {
                        related(machine, ALICE, "HOME=/");
                        overwritten(machine, 900).session(900);
                        machine.process(901, ALICE, ID + "b").session(900);
                        machine.envs(env("b", ALICE, "alice", "900"));
                        machine.devices(device(0, "b"), device(1));
                    })
                    .check(membership("b", MembershipSource.LISTED)),
            row("a process of its scope that names an environment", machine -> {
                        related(machine, ALICE, ID + "b").cgroup(SCOPE);
                        overwritten(machine, 1).cgroup(SCOPE);
                    })
                    .check(membership("b", MembershipSource.CGROUP)),
            row("a first thread that has exited, and an ancestor that names an environment", machine -> {
                        related(machine, ALICE, ID + "b");
                        var process = overwritten(machine, 900)
                                .session(900)
                                .threads(2)
                                .state('Z');
                        process.thread(813).environ("HOME=/").overwrite();
                    })
                    .check(membership("b", MembershipSource.ANCESTOR)));

    private MembershipRows() {}

    /** Process 812, which no environment lists. */
    private static FakeProcess overwritten(DescribedMachine machine, int parent) throws IOException {
        machine.process(950, ALICE);
        machine.envs(env("a", ALICE, "alice", "950"));
        var process = machine.process(812, ALICE, "HOME=/").overwrite().parent(parent);
        return process;
    }

    /** Process 900, to which process 812 is related. */
    private static FakeProcess related(DescribedMachine machine, long uid, String variable) throws IOException {
        return machine.process(900, uid, variable);
    }

    private static Consumer<Snapshot> membership(String eid, MembershipSource by) {
        return seen -> assertThat(seen.processes()).singleElement().satisfies(process -> {
            assertThat(process.membership()).isEqualTo(new Membership.InEnvironment(eid));
            assertThat(process.membershipBy()).isEqualTo(by);
        });
    }
}
