package dev.genv.enforcer.policy;

import static org.assertj.core.api.Assertions.assertThat;

import dev.genv.enforcer.testsupport.TableRow;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * What the rules find where random fleets do not lead ({@link PolicyFuzzTest}): the choice between processes and between devices, and what the
 * kernel proves. {@link DescribedFleet} reads the lines of a row.
 */
class PolicyTableTest {
    private static final String MEMORY = """
        the smallest process that frees enough
        process 1 in a on 0=600mi
        process 2 in a on 0=500mi
        process 3 in a on 0=400mi
        → terminate 2

        only the largest process frees enough
        process 1 in a on 0=900mi
        process 2 in a on 0=300mi
        process 3 in a on 0=200mi
        → terminate 1

        the newest of equal processes
        process 1 in a on 0=400mi
        process 2 in a on 0=400mi later 5
        process 3 in a on 0=400mi later 4
        → terminate 2

        the highest pid of equal processes of the same age
        process 1 in a on 0=400mi
        process 3 in a on 0=400mi
        process 2 in a on 0=400mi
        → terminate 3

        the smallest process although others are newer
        process 1 in a on 0=401mi later 9
        process 2 in a on 0=400mi
        process 3 in a on 0=402mi later 9
        → terminate 2

        the largest first where none alone frees enough
        process 1 in a on 0=400mi
        process 2 in a on 0=700mi
        process 3 in a on 0=600mi
        process 4 in a on 0=300mi
        → terminate 2, terminate 4

        a process that another rule terminates frees its memory
        enforce env-devices
        process 1 in a on 0=500mi
        process 2 in a on 0=600mi,1=1
        → terminate 2

        a process whose termination is not due keeps its memory
        enforce env-devices
        process 1 in a on 0=500mi
        process 2 in a on 0=600mi,1=1
        waits 2
        → terminate 1, terminate 2

        a signalled process frees its memory
        process 1 in a on 0=600mi
        process 2 in a on 0=500mi
        signalled 1
        → only reported

        a signalled process that is overdue is chosen before others
        process 1 in a on 0=600mi
        process 2 in a on 0=500mi
        overdue 1
        → terminate 1

        an immune process keeps its memory
        process 1 in a on 0=900mi immune
        process 2 in a on 0=200mi
        → terminate 2

        an immune process that another rule selects frees no memory
        enforce env-devices
        process 1 in a on 0=900mi,1=1 immune
        process 2 in a on 0=200mi
        → terminate 1, terminate 2

        the subordinate uids of another user add up
        subordinate 1003 100000 100
        process 1 in a on 0=900mi
        process 2 in a uid 100001 on 0=600mi
        process 3 in a uid 100002 on 0=600mi
        → terminate 3

        the subordinate uids of the owner are the owner
        subordinate 1000 165536 65536
        process 1 in a on 0=500mi
        process 2 in a uid 165536 on 0=600mi
        → terminate 1\
        """;

    /** Environments with other capacities, attachments and owners. */
    private static final String CAPACITIES = """
        one process that frees enough on two devices
        env a capacity 1000mi on 0,1
        process 1 in a on 0=400mi
        process 2 in a on 0=900mi,1=1200mi
        → terminate 2

        zero and unknown memory
        env a capacity 0 on 0
        process 1 in a on 0=0
        process 2 in a on 0=?
        process 3 in a on 0=1
        → terminate 3 (MEMORY_UNKNOWN)

        one byte above the capacity
        env a capacity 1153433599 on 0
        process 1 in a on 0=1100mi
        → terminate 1

        an immune process, and others that use no memory or an unknown amount
        env a capacity 100mi on 0
        process 1 in a on 0=900mi immune
        process 2 in a on 0=0
        process 3 in a on 0=?
        → only reported (MEMORY_UNKNOWN)

        a capacity that cannot be read
        env a capacity 4t on 0
        process 1 in a on 0=1100mi
        → nothing (CAPACITY_UNREADABLE)

        an immune process alone
        env a capacity 100mi on 0
        process 1 in a on 0=900mi immune
        → only reported

        directory users in the range of subordinate uids do not add up
        env a of alice uid 120000 capacity 1000mi on 0
        subordinate 1000 100000 65536
        process 1 in a uid 120000 native on 0=800mi
        process 2 in a uid 120001 native on 0=900mi
        → nothing

        a process of an unknown owner is not counted
        subordinate 1003 100000 100
        process 1 in a uid 100001 owner-unknown on 0=1100mi
        → nothing

        the excess of a directory user
        env a of alice uid 120000 capacity 1000mi on 0
        subordinate 1000 100000 65536
        process 1 in a uid 120000 native on 0=800mi
        process 2 in a uid 120001 native on 0=1100mi
        → terminate 2\
        """;

    /** Processes that an environment lists. */
    private static final String EXCUSED = """
        outside, on a device where it is excused, and on another
        process 1 excused 0 on 0
        process 2 excused 0 on 0,1
        → terminate 2

        in an inactive environment, on a device where it is excused, and on another
        process 1 in gone excused 0 on 0
        process 2 in gone excused 0 on 0,1
        → terminate 2

        in an environment, on a device that is not attached, where it is excused, and on another
        env a on 1
        process 1 in a excused 0 on 0,1
        process 2 in a excused 0 on 0,2
        → terminate 2

        excused is no membership: its memory does not count for the environment
        env a capacity 1000mi on 0
        process 1 excused 0 on 0=900mi
        process 2 in a on 0=900mi
        → nothing

        nor for that of its nearest ancestor, if another one excuses it there
        env a capacity 1000mi on 0,1
        process 1 in a excused 0 on 0=1100mi,1=900mi
        process 2 in a on 1=200mi
        → terminate 2

        excused is no exemption from the memory of its user
        memory 1000
        process 1 excused 0 on 0=1100mi
        → terminate 1\
        """;

    private static final String OWNERS = """
        a replaced entry while the owner's shell is alive
        env 4711 uid 1008 live 1008 pids 99 on 0
        process 1 in 4711 on 0
        other-shell 4711
        → only reported

        a live pid whose uid is unknown, as without root on hidepid=1
        env a live 1000 pids 99 on 0
        uid-unread 99
        process 1 in a uid 1003 on 0
        → only reported

        a subordinate uid of the owner
        env a live 1000 on 0
        subordinate 1000 165536 65536
        process 1 in a uid 165536 on 0
        → nothing

        a directory user in the range of subordinate uids
        env a of alice uid 120000 live 120000 on 0
        subordinate 1000 100000 65536
        process 1 in a uid 120000 native on 0
        process 2 in a uid 120001 native on 0
        → terminate 2

        a process of the recorded uid, whosever that is, and one of an unknown owner
        env a uid 165536 live 165536 on 0
        subordinate 1000 165536 65536
        process 1 in a uid 165536 on 0
        process 2 in a uid 165537 owner-unknown on 0
        → nothing

        a process that is another user's, or that other user's subordinate uid
        env a uid 1003 live 1003 on 0
        subordinate 1000 165536 65536
        process 2 in a uid 165537 owner-unknown on 0
        → terminate 2

        a dispute without the environments
        env a disputed
        missing ENVIRONMENTS
        → nothing\
        """;

    private static final String DEVICES = """
        a process that an environment excuses makes its device busy
        limit 1
        env a on 0 at OLD
        env b on 1 at NEW pids 1
        process 1 uid 1007 excused 1 on 1
        → detach a 0

        a process of the owner that an environment excuses proves the use
        limit 1
        env a on 0 at NEW
        env b on 1 at OLD
        process 1 excused 0 on 0
        process 2 in b uid 1003 on 1
        → terminate 2, detach b 1

        a process of the owner that names no environment of a device proves no use of it
        limit 1
        env a on 0 at NEW
        env forged on 1 at OLD
        process 1 in a on 0
        process 2 on 1
        → detach forged 1

        a container of root with the owner's uid proves no use
        limit 1
        env a on 0 at NEW
        env b on 1 at OLD
        process 1 in a on 0
        process 2 in b in-container on 1
        → terminate 2, detach b 1

        a subordinate uid of the owner proves the use
        limit 1
        env a on 0 at NEW
        env b on 1 at OLD
        subordinate 1000 165536 65536
        process 1 in a uid 165600 on 0
        process 2 in b uid 1003 on 1
        → terminate 2, detach b 1

        the uid of a directory user proves the use
        limit 1
        env a of alice uid 120000 on 0 at NEW
        env b of alice uid 120000 on 1 at OLD
        subordinate 1000 100000 65536
        process 1 in a uid 120000 native on 0
        process 2 in b uid 120001 native on 1
        → terminate 2, detach b 1

        a signalled process that is overdue makes no device busy
        limit 1
        env a on 1 at OLD
        env b on 0 at NEW
        process 1 in a on 1
        process 2 in b on 0
        overdue 1
        → terminate 1, detach a 1

        a process of the environment on another device stays
        limit 0
        env a on 0
        process 1 in a on 0
        process 2 in a on 1
        → terminate 1, detach a 0

        uid zero without a name counts for no user
        limit 0
        env a unnamed uid 0 on 0,1
        env b unnamed uid 0
        → nothing (ENVIRONMENT_USER_UNKNOWN)\
        """;

    private static final String NEW_DEVICES = """
        a new device in use by another uid before an older one in use
        env a on 0 at NEW
        env forged on 1 at OLD
        process 1 in a on 0
        process 2 in forged uid 1003 on 1
        appeared forged 1
        → terminate 2, detach forged 1

        a new device in use by another uid before an idle one
        env a on 0 at OLD
        env b on 1 at NEW
        process 1 in b uid 1003 on 1
        appeared b 1
        → terminate 1, detach b 1

        an idle device before a new one in use by the owner's uid
        env a on 0 at OLD
        env b on 1 at NEW
        process 1 in b on 1
        appeared b 1
        → detach a 0

        what was observed outranks the recorded time
        env a on 0 at NEW
        env b on 1 at OLD
        appeared b 1
        → detach b 1

        a device that the user held already is not new
        env a on 0 at OLD
        env b on 0 at OLD
        env c on 1 at NEW
        appeared b 0
        → detach c 1

        the older attachment of a device counts, here the second one
        env a on 1 at OLD
        env b on 1 at OLD
        env c on 0 at OLD
        appeared a 1 9
        appeared b 1 2
        appeared c 0 5
        → detach c 0

        the older attachment of a device counts, here the first one
        env a on 1 at OLD
        env b on 1 at OLD
        env c on 0 at OLD
        appeared a 1 2
        appeared b 1 9
        appeared c 0 5
        → detach c 0

        recorded times alone do not choose between devices in use
        env a on 0 at OLD
        env b on 1 at NEW
        process 1 in a uid 1007 on 0
        process 2 in b uid 1008 on 1
        no-history
        → only reported (QUOTA_UNDECIDED)

        an unproven use before a proven one
        env a on 0 at OLD
        env b on 1 at NEW
        process 1 in a on 0
        process 2 in b uid 1008 on 1
        no-history
        → terminate 2, detach b 1

        all unproven uses where none needs to be chosen
        limit 0
        env a on 0 at OLD
        env b on 1 at NEW
        process 1 in a uid 1007 on 0
        process 2 in b uid 1008 on 1
        no-history
        → terminate 1, terminate 2, detach a 0, detach b 1

        one that appeared later before those of unknown age
        env a on 0 at OLD
        env b on 1 at NEW
        process 1 in a uid 1007 on 0
        process 2 in b uid 1008 on 1
        appeared a 0
        → terminate 1, detach a 0\
        """;

    /** Host a runs alice's container. On host b, another user may have written her name and their own uid. */
    private static final String CONFIRMED_OWNERS = """
        a new device of another uid than the account's
        env a of alice uid 1001 account on 0
        process 1 in a uid 0 on 0
        host b
        env b of alice uid 1002 on 0
        process 2 in b uid 1002 on 0
        appeared b 0
        → terminate b/2, detach b/b 0

        a new device of another uid where no host knows the user
        env a of alice uid 1001 on 0
        process 1 in a uid 0 on 0
        host b
        env b of alice uid 1002 on 0
        process 2 in b uid 1002 on 0
        appeared b 0
        → terminate b/2, detach b/b 0

        a device of another uid and of unknown age
        env a of alice uid 1001 account on 0
        process 1 in a uid 0 on 0
        host b
        env b of alice uid 1002 on 0
        process 2 in b uid 1002 on 0
        no-history
        → only reported (QUOTA_UNDECIDED)

        the uid of an account proves the use
        env a of alice uid 1001 on 0
        process 1 in a uid 0 on 0
        host b
        env b of alice uid 1002 account on 0
        process 2 in b uid 1002 on 0
        appeared b 0
        → terminate a/1, detach a/a 0

        a uid that all hosts record proves the use
        env a of alice uid 1001 on 0
        process 1 in a uid 0 on 0
        host b
        env b of alice uid 1001 on 0
        process 2 in b uid 1001 on 0
        appeared b 0
        host c
        env c of alice uid 1002 disputed
        → terminate a/1, detach a/a 0

        a uid proves the use of an environment without a name
        env a of 1002 uid 1001 on 0
        process 1 in a uid 1001 on 0
        host b
        env b unnamed uid 1002 on 0
        process 2 in b uid 1002 on 0
        no-history
        → terminate a/1, detach a/a 0\
        """;

    /** The limit of each user is 1000 MiB on all hosts, that of the user 1007 is 5000 MiB. */
    private static final String MEMORY_OF_USERS = """
        the smallest process that frees enough on all hosts together
        process 1 uid 1001 on 0=600mi
        host b
        process 1 uid 1001 on 0=300mi,1=50mi
        process 2 uid 1001 on 0=300mi
        → terminate b/2

        a process to terminate on each of two hosts
        process 1 uid 1001 on 0=1100mi
        host b
        process 1 uid 1001 on 0=1200mi
        host c
        process 1 uid 1001 on 0=10mi
        → terminate a/1, terminate b/1

        as much as is allowed
        process 1 uid 1001 on 0=1000mi
        process 2 uid 1007 on 0=5000mi
        → nothing

        more than is allowed to the user alone
        process 1 uid 1007 on 0=5001mi
        → terminate a/1

        subordinate uids count for their account
        subordinate 1001 100000 65536
        process 1 uid 1001 on 0=600mi
        process 2 uid 100005 on 0=500mi
        → terminate a/2

        a user's own uid in the range of another one is a user of its own, and an unknown owner is nobody
        subordinate 1001 100000 65536
        process 1 uid 1001 on 0=600mi
        process 2 uid 100005 native on 0=900mi
        process 3 uid 100006 owner-unknown on 0=900mi
        → nothing

        an immune process keeps its memory
        process 1 uid 1001 on 0=1100mi immune
        process 2 uid 1001 on 0=10mi
        → terminate a/2

        an immune process alone
        process 1 uid 1001 on 0=1100mi immune
        → only reported

        a signalled process frees its memory
        process 1 uid 1001 on 0=600mi
        process 2 uid 1001 on 0=500mi
        signalled 1
        → only reported

        a signalled process that is overdue is chosen before others
        process 1 uid 1001 on 0=600mi
        process 2 uid 1001 on 0=500mi
        overdue 1
        → terminate a/1

        a process whose membership is unknown
        process 1 uid 1001 unknown on 0=1100mi
        → terminate a/1

        a process in a container of root counts for nobody, and one in an unknown cgroup may be in such a container
        process 1 uid 1001 on 0=900mi
        process 2 uid 1001 in-container on 0=5000mi
        process 3 uid 1001 cgroup-unknown on 0=5000mi
        → nothing (CGROUP_UNKNOWN)

        unknown memory does not count
        process 1 uid 1001 on 0=900mi,1=?
        → nothing (MEMORY_UNKNOWN)\
        """;

    static Stream<Arguments> rows() {
        return Stream.of(
                        rows(MEMORY, "enforce env-memory", "env a capacity 1000mi on 0"),
                        rows(CAPACITIES, "enforce env-memory"),
                        rows(
                                EXCUSED,
                                "enforce non-env-processes",
                                "enforce inactive-env-processes",
                                "enforce env-devices",
                                "enforce env-memory"),
                        rows(OWNERS, "enforce env-owner"),
                        rows(DEVICES),
                        rows(NEW_DEVICES, "limit 1"),
                        rows(CONFIRMED_OWNERS, "limit 1", "host a"),
                        rows(MEMORY_OF_USERS, "memory 1000 1007=5000", "host a"))
                .flatMap(rows -> rows);
    }

    private static Stream<Arguments> rows(String table, String... first) {
        return TableRow.in(table).map(row -> Arguments.of(row, List.of(first)));
    }

    /** The first lines are those of all rows of the table. */
    @ParameterizedTest(name = "{0}")
    @MethodSource("rows")
    void planIsAsDescribed(TableRow row, List<String> first) {
        var fleet = new DescribedFleet(
                Stream.of(first, row.lines()).flatMap(List::stream).toList());
        assertThat("→ " + fleet.planned()).isEqualTo(row.expected());
    }
}
