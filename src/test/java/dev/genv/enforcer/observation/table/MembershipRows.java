package dev.genv.enforcer.observation.table;

import static dev.genv.enforcer.observation.table.DescribedMachine.ALICE;
import static dev.genv.enforcer.observation.table.DescribedMachine.BOB;
import static dev.genv.enforcer.observation.table.DescribedMachine.device;
import static dev.genv.enforcer.observation.table.DescribedMachine.env;
import static dev.genv.enforcer.observation.table.FactRow.row;
import static org.assertj.core.api.Assertions.assertThat;

import dev.genv.enforcer.model.Membership;
import dev.genv.enforcer.model.Membership.MembershipSource;
import dev.genv.enforcer.model.Snapshot;
import dev.genv.enforcer.testsupport.fake.FakeProc.FakeProcess;
import java.io.IOException;
import java.nio.file.Files;
import java.util.List;
import java.util.Set;
import java.util.function.Consumer;

/** A listed process that has overwritten its environ. Environment a of alice is active. */
final class MembershipRows {
    private static final String ID = "GENV_ENVIRONMENT_ID=";
    private static final String PROBLEM =
            "MEMBERSHIP_UNKNOWN: process 812 is not checked: it has overwritten its environ, and ";
    private static final String NOTHING_FOUND = PROBLEM + "no ancestor shows to which environment it belongs";

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
            row("an ancestor that names no environment", machine -> {
                        related(machine, ALICE, "HOME=/");
                        overwritten(machine, 900).session(900);
                    })
                    .problem(NOTHING_FOUND),
            row("an ancestor that has exited", machine -> overwritten(machine, 901))
                    .problem(PROBLEM + "its ancestors cannot be read"),
            row("an overwritten environ, and an environment that lists an ancestor", machine -> {
                        related(machine, ALICE, "HOME=/");
                        overwritten(machine, 900).session(900);
                        machine.envs(env("a", ALICE, "alice", "900"));
                    })
                    .problem(NOTHING_FOUND)
                    .check(excused(Set.of(0))),
            row("no id, and an environment that lists an ancestor above another one", machine -> {
                        related(machine, ALICE, "HOME=/").parent(901);
                        machine.process(901, ALICE, "HOME=/");
                        machine.process(812, ALICE, "HOME=/").parent(900);
                        machine.envs(env("a", ALICE, "alice", "901"));
                    })
                    .check(excused(Set.of(0))),
            row("no id, and an environment that lists an ancestor of another user", machine -> {
                        related(machine, BOB, "HOME=/");
                        machine.process(950, ALICE);
                        machine.process(812, ALICE, "HOME=/").parent(900);
                        machine.envs(env("a", ALICE, "alice", "900"), env("b", BOB, "bob", "900"));
                        machine.devices(device(0, "b"), device(1, "a"));
                    })
                    .check(excused(Set.of())),
            row("root in a container", machine -> {
                        related(machine, 0, ID + "a").namespacePids("900\t1");
                        overwritten(machine, 900).session(900).uid(0).namespacePids("812\t7");
                    })
                    .check(membership("a", MembershipSource.ANCESTOR)),
            row("root outside of containers", machine -> {
                        related(machine, 0, ID + "a");
                        overwritten(machine, 900).session(900).uid(0);
                        machine.overwrittenIsOutside = true;
                    })
                    .problem(PROBLEM + "root starts programs for all users, so its other processes prove nothing"),
            row(
                            "a subordinate uid",
                            machine -> machine.process(812, 100_001, ID + "a")
                                    .uidMap("         0       1003          1", "         1     100000      65536"))
                    .check(seen ->
                            assertThat(seen.processes().getFirst().owner()).isEqualTo(ALICE)),
            row("a uid without an account in a range", machine -> machine.process(812, 100_001, ID + "a"))
                    .problem(
                            "OWNER_UNKNOWN: process 812 is of uid 100001, which is in the range of subordinate uids of uid"
                                    + " 1003, and its user namespace does not show whose it is"),
            row("a subordinate uid, and an environ that cannot be read", machine -> {
                        var process = machine.process(812, 100_001).uidMap("0 1003 1", "1 100000 65536");
                        Files.delete(process.file("environ"));
                        Files.createDirectory(process.file("environ"));
                    })
                    .problem(
                            "MEMBERSHIP_UNKNOWN: process 812 is not checked: its environ cannot be read: Is a directory")
                    .check(seen ->
                            assertThat(seen.processes().getFirst().owner()).isEqualTo(ALICE)),
            row(
                            "a user namespace that cannot be read",
                            machine -> Files.delete(
                                    machine.process(812, 100_001, ID + "a").file("uid_map")))
                    .problem(
                            "OWNER_UNKNOWN: process 812 is of uid 100001, which is in the range of subordinate uids of uid"
                                    + " 1003, and its user namespace does not show whose it is"),
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

    private static Consumer<Snapshot> excused(Set<Integer> devices) {
        return seen -> assertThat(seen.processes())
                .singleElement()
                .satisfies(process -> assertThat(process.excused()).isEqualTo(devices));
    }

    private static Consumer<Snapshot> membership(String eid, MembershipSource by) {
        return seen -> assertThat(seen.processes()).singleElement().satisfies(process -> {
            assertThat(process.membership()).isEqualTo(new Membership.InEnvironment(eid));
            assertThat(process.membershipBy()).isEqualTo(by);
        });
    }
}
