package dev.genv.enforcer.observation;

import static dev.genv.enforcer.observation.Relatives.JOB;
import static org.assertj.core.api.Assertions.assertThat;

import dev.genv.enforcer.model.ProcessId;
import dev.genv.enforcer.observation.MembershipResolver.MembershipHistory;
import dev.genv.enforcer.testsupport.TableRow;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * To which environment a process belongs that has overwritten its environ. {@link Relatives} describes the machine at first, and what the
 * words mean; 812 is the job, and 100 its shell.
 */
class MembershipTableTest {
    private static final String ANCESTORS = """
            the nearest intact ancestor
            200 parent 100 session 100 in a; 300 parent 200 session 100; 812 parent 300
            → in a by ANCESTOR

            an ancestor that names no environment
            812
            → outside by ANCESTOR

            incomplete relations
            incomplete
            → unknown

            a relative that names an environment contradicts an ancestor without one
            500 session 100 in a
            → unknown

            an ancestor that cannot be read
            200 parent 100 session 100 unavailable; 812 parent 200
            → unknown: the environ of its ancestor 200 cannot be read

            a relative that cannot be read
            500 session 100 unavailable
            → unknown

            another user's process in the session
            500 session 100 uid 1004 in a
            → outside by ANCESTOR

            a user with an active environment, whose shell may have left it
            list a 1003 4711; anew; unlist; list b 1004 4711; anew
            → unknown, outside by ANCESTOR

            the chain ends at a process of another user
            200 session 100 in a; 300 parent 200 session 100 uid 1004 in b; 100 overwritten; 812 session 812 parent 300
            → unknown

            the chain ends at the first process
            1 parent 0 in a; 812 session 812 parent 1
            → unknown

            a younger process is not the parent
            100 in a start 813; 812 session 812
            → unknown

            a process that adopted an orphan, such as systemd --user
            50 in a; 100 overwritten; 812 parent 50; anew; 812 group 812; anew
            → unknown, unknown

            an ancestor in another session, by which the job may have been adopted
            50 intact; 812 session 812 parent 50; anew; 50 in a; anew
            → unknown, in a by ANCESTOR

            the first process of a container
            100 container first session 50; 812 container session 50; anew; 100 in a; anew
            → unknown, in a by ANCESTOR

            the chain ends at the border of a container
            100 in a; 812 container first session 812
            → unknown

            root of the machine is many users
            100 uid 0 in a; 812 uid 0
            → unknown

            root of a container is one user
            100 uid 0 container first cgroup CONTAINER in a; 812 uid 0 container cgroup CONTAINER
            → in a by ANCESTOR

            root of another container
            100 uid 0 container first cgroup CONTAINER in a; 812 uid 0 container cgroup /system.slice/other.scope
            → unknown

            unknown environments
            100 in a; environments-unknown
            → unknown: it is unknown which environments list its ancestors""";

    /** The job is an orphan, so that it has no ancestors. */
    private static final String SESSIONS = """
            the leader of the session
            812 parent 1; anew; 100 in a; anew
            → outside by SESSION, in a by SESSION

            a member of the process group, and one of another group
            812 parent 1; without 100; 900 session 100 group 812 in a; anew; 900 group 900; anew
            → in a by SESSION, unknown

            a leader and a group that disagree
            812 parent 1; 100 in a; 900 session 100 group 812 in b; anew; 100 intact; anew
            → unknown: the processes of its session name different environments, unknown

            a missing process, which may disagree
            812 parent 1; 100 in a; incomplete
            → unknown

            a missing process of another user, and one of the user
            812 parent 1; 100 in a; incomplete 1004; anew; incomplete 1003; anew
            → in a by SESSION, unknown

            a process that cannot be read, which may disagree
            812 parent 1; 100 in a; 900 session 100 group 812 unavailable
            → unknown

            processes without a session, which began outside of the PID namespace
            100 session 0 in a; 812 parent 1 session 0 group 100
            → unknown

            a leader of another user
            812 parent 1; 100 uid 1004 in a
            → unknown

            a process that only has the pid of the leader
            812 parent 1; 100 session 50 in a
            → unknown

            a leader that an environment lists
            812 parent 1; list b 1004 100
            → unknown

            the session before the cgroup
            orphan SCOPE; 903 session 812 group 812 in s
            → in s by SESSION""";

    private static final String CGROUPS = """
            all processes of the scope agree
            orphan SCOPE; anew; 902 cgroup SCOPE in b; anew; 902 intact; anew; 902 uid 1004; anew
            → in a by CGROUP, unknown: the processes of its cgroup name different environments, unknown, in a by CGROUP

            a missing process of the scope
            orphan SCOPE; incomplete
            → unknown

            a scope without any environment
            orphan SCOPE; 901 intact; anew; list a 1003 4711; anew
            → outside by CGROUP, unknown

            the root cgroup
            orphan /
            → unknown

            the scope of the first process
            orphan /init.scope
            → unknown

            a slice
            orphan /user.slice
            → unknown

            the manager of all services of a user
            orphan /user.slice/user-1003.slice/user@1003.service
            → unknown

            the scope of that manager
            orphan /user.slice/user-1003.slice/user@1003.service/init.scope
            → unknown

            a folder for others
            orphan /a
            → unknown

            a service
            orphan /system.slice/ray.service
            → in a by CGROUP

            a container of Docker
            orphan /docker/ID
            → in a by CGROUP

            a container of Kubernetes
            orphan /../cri-containerd-ID.scope
            → in a by CGROUP

            a container of Podman
            orphan /machine.slice/libpod-ID.scope/container
            → in a by CGROUP""";

    /** genv sets the id of an environment in a running shell, so that only envs.json shows it, which every user can write. */
    private static final String LISTED_ANCESTORS = """
            a shell that was listed before the process was started, as another user can do
            list 100 1003 100; environments-at 811
            → unknown: nothing proves the entry of envs.json that lists its ancestor 100

            an environ that named the environment before
            list 100 1003 100; 900 parent 100 session 100 in 100; at 811; without 900
            → in 100 by LISTED

            a shell that is listed again after it has left
            list 100 1003 100; 900 parent 100 session 100 in 100; at 811; without 900; unlist; environments-at 811; list 100 1003 100
            → unknown: nothing proves the entry of envs.json that lists its ancestor 100

            an entry that was changed
            list 100 1003 100; 900 parent 100 session 100 in 100; at 811; without 900; unlist; list 200 1003 100
            → unknown: nothing proves the entry of envs.json that lists its ancestor 100

            a proof for an earlier process with the pid
            list 100 1003 100; 900 parent 100 session 100 in 100; at 50; without 900
            → unknown: nothing proves the entry of envs.json that lists its ancestor 100

            an environ of the same session, of another id, of another user, and of another session
            list 100 1003 100; 900 parent 100 session 100 in 100; anew; 900 in 200; anew; 900 in 100 uid 1004; anew; 900 uid 1003 session 900; anew
            → in 100 by LISTED, unknown, unknown, unknown

            an entry of another user
            list 100 1004 100; environments-at 811
            → unknown: nothing proves the entry of envs.json that lists its ancestor 100

            an entry of another user that an environ named
            list 100 1004 100; 900 parent 100 session 100 in 100
            → unknown: nothing proves the entry of envs.json that lists its ancestor 100

            a disputed entry
            list-disputed 100 100; environments-at 811
            → unknown: nothing proves the entry of envs.json that lists its ancestor 100

            several entries
            list 100 1003 100; list b 1003 100; environments-at 811
            → unknown: nothing proves the entry of envs.json that lists its ancestor 100

            the nearest listed ancestor
            200 parent 100 session 100; 900 parent 200 session 100 in 200; 812 parent 200; list 100 1003 100; list 200 1003 200
            → in 200 by LISTED

            a job that is listed itself
            100 in b; list 100 1003 812
            → unknown: nothing proves the entry of envs.json that lists its pid

            a shell that was listed once and still has the id
            list 100 1003 100; 950 parent 100 session 100 intact; environments-at 50; unlist
            → unknown

            a shell that was listed a day ago
            list 100 1003 100; environments-at 50; unlist; environments-at 60; environments-at 8640061; decide 10000000
            → outside by ANCESTOR

            a listed job that is removed from the list
            list 100 1003 812; environments-at 812; unlist
            → unknown

            a leader that has exited and was listed once, whose pid the session keeps in use
            812 cgroup SCOPE; 900 cgroup SCOPE intact; without 100; anew; list 100 1003 100; environments-at 4000; unlist; decide 5000
            → outside by CGROUP, unknown

            too many former listings
            list-many; decide 5001
            → unknown

            a former listing that is listed again, which another user can do
            list-many; list b 1004 10000 10001 10002; environments-at 5001; unlist; decide 5002
            → unknown

            too many former listings, and a later process
            list-many; 100 parent 1 start 5001; 812 start 5002; decide 5003
            → outside by ANCESTOR

            too many former listings a day ago
            list-many; decide 8645001
            → outside by ANCESTOR""";

    private static final String HISTORY = """
            a program that overwrites its environ stays where it was
            812 in a; decide; settled; 812 overwritten; decide; settled; without 100; decide
            → in a by ENVIRON, settled [], in a by EARLIER, settled [812], in a by EARLIER

            an environ that is intact again
            812 in a; decide; 812 overwritten; decide; 812 in b; decide; 812 overwritten; decide
            → in a by ENVIRON, in a by EARLIER, in b by ENVIRON, in b by EARLIER

            an inferred membership after the witnesses have exited
            decide; without 100; 812 parent 1; decide
            → outside by ANCESTOR, outside by ANCESTOR

            another program of the process
            812 in a; decide; 812 overwritten executed 1; decide
            → in a by ENVIRON, outside by ANCESTOR

            a settled process with another program is unknown once
            decide; 812 executed 1; decide; settled; decide; settled; 812 executed 2; decide
            → outside by ANCESTOR, unknown: it runs another program than in the last observation, settled [], \
            outside by ANCESTOR, settled [], outside by ANCESTOR

            a later process with the pid
            812 in a; decide; 812 overwritten start 813; decide
            → in a by ENVIRON, outside by ANCESTOR

            a process that is no longer listed
            812 in a; decide; 812 overwritten; retain 812; decide; retain; settled; decide
            → in a by ENVIRON, in a by EARLIER, settled [], outside by ANCESTOR

            an unknown membership
            incomplete; decide; settled; 100 in a; decide
            → unknown, settled [], in a by ANCESTOR""";

    /** A process is outside if nothing is found: GENV_ENFORCER_OVERWRITTEN_ENVIRON. */
    private static final String SETTING = """
            nothing is found
            strict; 100 overwritten; decide; settled; 100 in a; decide
            → outside by SETTING, settled [], in a by ANCESTOR

            an environment lists the shell
            strict; list b 1004 100
            → unknown

            a process was left out, perhaps because another user started so many
            strict; 100 overwritten; incomplete
            → unknown

            a relative cannot be read
            strict; 100 unavailable; decide; 812 parent 1; decide
            → unknown, unknown

            the shell was listed once, which another user can have changed
            strict; list 100 1003 100; environments-at 50; unlist; decide; without 100; 812 parent 1; decide
            → unknown, unknown""";

    static Stream<TableRow> rows() {
        return TableRow.in(ANCESTORS, SESSIONS, CGROUPS, LISTED_ANCESTORS, HISTORY, SETTING);
    }

    @ParameterizedTest
    @MethodSource("rows")
    void membershipIsAsDescribed(TableRow row) {
        var machine = new Relatives();
        machine.follow(row.lines().getFirst());
        var expected = List.of(row.expected().substring(2).split(", (?=in |outside|unknown|settled)", -1));
        var found = machine.found();
        assertThat(found).hasSameSizeAs(expected);
        for (var i = 0; i < found.size(); i++) {
            var decision = found.get(i);
            assertThat(expected.get(i).equals("unknown") ? decision.substring(0, 7) : decision)
                    .isEqualTo(expected.get(i));
        }
    }

    /** Only a complete observation shows which processes have exited. */
    @Test
    void forgetsTheProcessThatWasNotSeenForTheLongestTimeIfThereAreTooMany() {
        var machine = new Relatives();
        machine.follow("decide; 813 parent 100 session 100");
        machine.decide(5000, JOB + 1);
        for (var later = 0; later < MembershipHistory.MAX_REMEMBERED - 1; later++) {
            machine.follow("2000 parent 100 session 100 start " + (10_000 + later));
            machine.decide(5000, 2000);
            if (later % 1000 == 0) {
                machine.decide(5000, JOB + 1);
            }
        }
        assertThat(machine.settled())
                .hasSize(MembershipHistory.MAX_REMEMBERED)
                .contains(new ProcessId(JOB + 1, JOB + 1))
                .doesNotContain(new ProcessId(JOB, JOB));
    }
}
