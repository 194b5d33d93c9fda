package dev.genv.enforcer.enforcement;

import dev.genv.enforcer.testsupport.TableRow;
import java.util.stream.Stream;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * The grace period of 30 s: what users, also hostile ones, do to genv's files and with their processes, and what follows. Alice has the uid
 * 1003, Bob 1004.
 */
class GraceTableTest extends CycleTable {
    private static final String CLOCKS = """
        a violation lasts for the grace period
        stray 0 10 29 30
        → 1 TERM 30

        the grace period begins anew after an hour without the violation
        stray 0
        empty 10-3650/20
        stray 3660 3680 3690
        → 1 TERM 3690

        a violation returns within an hour, long after the service was started
        empty 0-4200/600
        stray 4210
        empty 4220
        stray 4230 4250
        → 1 TERM 4250

        a violation in every second observation only
        stray 0
        empty 10
        stray 20
        empty 30
        stray 40
        empty 50
        stray 60
        → 1 TERM 60

        the grace period of one of two rules is over
        env a capacity 1000mi on 0; process 1 in a on 0=2000mi @ 0
        env a capacity 1000mi on 0; process 1 in a on 0=2000mi,1 @ 29 30
        → 1 TERM 30

        each rule has a grace period of its own
        process 1 on 0 @ 0
        process 1 in a on 0 @ 20
        process 1 on 0 @ 40 50
        → 1 TERM 50

        victims of memory that alternate share the time
        env a capacity 1000mi on 0; process 1 in a on 0=900mi; process NEXT in a on 0=500mi @ 0-30/10
        → 130 TERM 30

        two observations within a clock tick
        stray 0 29 29 30
        → 1 TERM 30

        a process gets the grace period of the device that is detached, and not of another one that it uses
        devices-per-user 1
        without env-devices
        env a of alice uid 1003 live 1003 on 0; env b of alice uid 1003 live 1003 on 1; process 1 started -60 in a uid 1003 on 0; process 2 started -60 in b uid 1003 on 1 @ 0 10
        env a of alice uid 1003 live 1003 on 0; env b of alice uid 1003 live 1003 on 2; process 1 started -60 in a uid 1003 on 0; process 2 started -60 in b uid 1003 on 1,2 @ 20-50/10
        → 2 TERM 50, detach b 50

        each device of a quota has its own grace period
        devices-per-user 1
        env a of alice uid 1003 live 1003 on 0; env b of alice uid 1003 live 1003 on 1; process 1 started -60 in a uid 1003 on 0 @ 0 10
        env a of alice uid 1003 live 1003 on 0; env b of alice uid 1003 live 1003 on 1; env c of alice uid 1003 live 1003 on 2; process 1 started -60 in a uid 1003 on 0 @ 20 30
        → detach b 30\
        """;

    /** Nothing is remembered of a machine that was rebooted, and nothing changes while a host or its state is not known. */
    private static final String MACHINES = """
        a reboot begins anew
        machine boot-1
        stray 0 10 20
        machine boot-2
        stray 30 40 50 60
        → 1 TERM 60

        a reboot of a machine without an id begins anew
        stray 0 10 20
        reboot
        stray 30 40 50 60
        → 1 TERM 60

        a host that counts under another name for a while has no picture
        without inactive-env-processes
        env a @ 0
        duplicate 10
        env a; process 1 started 5 in a on 0 @ 20-50/10
        → 1 TERM 50

        a host that is not in the list for less than an hour keeps its claims
        without inactive-env-processes
        process 1 started 5 in a uid 1003 on 0 @ 0 10
        env a uid 1003; process 1 started 5 in a uid 1003 on 0 @ 20
        unlist
        empty 30-3630/600
        list
        env a uid 1003; process 1 started 5 in a uid 1003 on 0 @ 3640-3700/10
        → nothing

        a host that is not in the list for more than an hour begins anew
        without inactive-env-processes
        process 1 started 5 in a uid 1003 on 0 @ 0 10
        env a uid 1003; process 1 started 5 in a uid 1003 on 0 @ 20
        unlist
        empty 30-3630/600 3631
        list
        env a uid 1003; process 1 started 5 in a uid 1003 on 0 @ 3640-3670/10
        → 1 TERM 3670

        a state that cannot be read for a while changes nothing
        without inactive-env-processes
        env a @ 0
        missing ENVIRONMENTS @ 10
        env a; process 1 started -5 in a on 0 @ 20-50/10
        → 1 TERM 50\
        """;

    /** Somebody adds, changes or removes an entry. */
    private static final String ENTRIES = """
        a job of the first interval of its environment is not shielded
        empty 0
        env a; process 1 started 5 in a on 0 @ 10 20 30 40
        → 1 TERM 40

        an environment that appeared later is not used against a process
        without inactive-env-processes
        process 1 started 5 in a on 0 @ 0 10
        env a; process 1 started 5 in a on 0 @ 20-210/10
        → nothing

        a stranger in an environment with a long id
        with env-owner
        env LONG uid 1003 live 1003 on 0 @ 0
        env LONG uid 1003 live 1003 on 0; process 1 started 15 in LONG uid 1004 on 0 @ 10 20 30 40
        → 1 TERM 40

        a revived environment is used only against later jobs
        without inactive-env-processes
        env a uid 1003 on 0; process 1 started 5 in a uid 1003 on 0 @ 0 10
        process 1 started 5 in a uid 1003 on 0 @ 20-60/10
        env a uid 1003; process 1 started 5 in a uid 1003 on 0; process 2 started 75 in a uid 1003 on 0 @ 70-130/10
        → 2 TERM 100, 2 KILL 130

        a long id is not another one
        without inactive-env-processes
        env LONG1 @ 0
        env LONG1; env LONG2; process 1 started -5 in LONG2 on 0 @ 10-60/10
        → nothing

        an owner that appeared later is not used against a process
        with env-owner
        env a uid 1003 live 1003 on 0 @ 0
        env a uid 1004 live 1004 on 0; process 1 started -5 in a uid 1003 on 0; process 2 started 5 in a uid 1003 on 0 @ 10-40/10
        → 2 TERM 40

        a holding that was disputed for a while is new in the quota
        devices-per-user 1
        env a of alice uid 1003 on 0; env b of alice uid 1003 on 1 @ 0
        env a of alice uid 1003 disputed on 0; env b of alice uid 1003 on 1 @ 10
        env a of alice uid 1003 on 0; env b of alice uid 1003 on 1 @ 20-60/10
        → detach a 50, detach a 60

        forged holdings that are another one in each cycle take nothing away
        devices-per-user 1
        env a of alice uid 1003 live 1003 on 0 @ 0
        env a of alice uid 1003 live 1003 on 0; env fNEXT of alice uid 1003 live 1003 on 1 at 01/01/2020 00:00:00 @ 10-60/10
        → nothing

        a forged holding ages no later attachment of the user on its device
        devices-per-user 1
        env a of alice uid 1003 live 1003 on 0; process 1 started -60 in a uid 1003 on 0 @ 0
        env a of alice uid 1003 live 1003 on 0; process 1 started -60 in a uid 1003 on 0; env f of alice uid 1003 live 1003 on 1 @ 10-40/10
        env a of alice uid 1003 live 1003 on 0,1; process 1 started -60 in a uid 1003 on 0; process 2 started 45 in a uid 0 on 1 @ 50-80/10
        → detach f 40, 2 TERM 80, detach a 80

        a forged holding that is taken back in time ages nothing
        devices-per-user 1
        env a of alice uid 1003 live 1003 on 0 @ 0
        env a of alice uid 1003 live 1003 on 0; env f of alice uid 1003 live 1003 on 1 @ 10 20 30
        env a of alice uid 1003 live 1003 on 0 @ 38
        env a of alice uid 1003 live 1003 on 0; env b of alice uid 1003 live 1003 on 1 @ 40-70/10
        → detach b 70

        a user who changes the attachment under an own job gains no time
        devices-per-user 1
        without inactive-env-processes
        env a of alice uid 1003 live 1003 on 0; process 1 started -60 in a uid 1003 on 0; process 2 started -60 in b uid 1003 on 1 @ 0
        env a of alice uid 1003 live 1003 on 0; process 1 started -60 in a uid 1003 on 0; env bNEXT of alice uid 1003 live 1003 on 1; process 2 started -60 in b uid 1003 on 1 @ 10-40/10
        → detach b140 40

        a process of another uid on a forged holding ages no later attachment of the user
        devices-per-user 1
        without inactive-env-processes
        env a of alice uid 1003 live 1003 on 0; process 1 started -60 in a uid 1003 on 0 @ 0
        env a of alice uid 1003 live 1003 on 0; process 1 started -60 in a uid 1003 on 0; env fNEXT of alice uid 1004 live 1004 on 1; process 2 started -60 in x uid 1004 on 1 @ 10-60/10
        env a of alice uid 1003 live 1003 on 0,1; process 1 started -60 in a uid 1003 on 0; process 3 started 65 in a uid 1003 on 1 @ 70-100/10
        → detach f140 40, detach f150 50, detach f160 60, 3 TERM 100, detach a 100

        an entry that becomes another user's is new in the quota
        devices-per-user 1
        env a of alice uid 1003 on 0; env m of mal uid 1004 on 1 at 01/01/2020 00:00:00 @ 0
        env a of alice uid 1003 on 0; env m of alice uid 1003 on 1 at 01/01/2020 00:00:00 @ 10-40/10
        → detach m 40\
        """;

    /** What waits does not leave, so other rules choose as if it stayed. */
    private static final String WAITING = """
        a process that waits still uses its device
        devices-per-user 1
        env a of alice uid 1003 live 1003 on 0; env b of alice uid 1003 live 1003 on 1; process 1 started -60 in a uid 1003 on 0; process 2 started -60 in b uid 1003 on 1 @ 0 10
        env a of alice uid 1003 live 1003 on 0; env b of alice uid 1003 live 1003 on 1; process 1 started -60 in a uid 1003 on 0,2; process 2 started -60 in b uid 1003 on 1 @ 20 30
        → 2 TERM 30, detach b 30

        a process that waits keeps its memory
        env a capacity 1000mi on 0; process 1 in a on 0=400mi; process 2 in a on 0=900mi @ 0 10
        env a capacity 1000mi on 0; process 1 in a on 0=400mi,1; process 2 in a on 0=900mi @ 20 30
        → 1 TERM 30

        a process that is older than the entry of its environment keeps its memory
        without inactive-env-processes
        process 1 started 5 in a uid 1003 on 0=400mi @ 10
        env a capacity 1000mi on 0; process 1 started 5 in a uid 1003 on 0=400mi,1; process 2 started 25 in a uid 1003 on 0=900mi @ 30-120/10
        → nothing\
        """;

    /** Entries of genv's files are added or changed so that a rule may end the large job, which has run for hours, instead of the small one. */
    private static final String OTHER_VICTIMS = """
        a user above the memory limit loses the job that is small enough
        memory-per-user 1000
        env a uid 1003 live 1003 on 0; process 1 started -60 in a uid 1003 on 0=900mi; process 2 started 5 in a uid 1003 on 0=200mi @ 10-40/10
        → 2 TERM 40

        an added entry against which the small job is shielded changes nothing
        memory-per-user 1000
        without inactive-env-processes
        env a uid 1003 live 1003 on 0; process 1 started -60 in a uid 1003 on 0=900mi; process 2 started 5 in x uid 1003 on 0=200mi @ 10 20
        env a uid 1003 live 1003 on 0; env x uid 1003 live 1003; process 1 started -60 in a uid 1003 on 0=900mi; process 2 started 5 in x uid 1003 on 0=200mi @ 30 40
        → 2 TERM 40

        a lost attachment of the small job begins another grace period and changes nothing
        memory-per-user 1000
        env a uid 1003 live 1003 on 0; env b uid 1003 live 1003 on 1; process 1 started -60 in a uid 1003 on 0=900mi; process 2 started 5 in b uid 1003 on 1=200mi @ 10 20
        env a uid 1003 live 1003 on 0; env b uid 1003 live 1003; process 1 started -60 in a uid 1003 on 0=900mi; process 2 started 5 in b uid 1003 on 1=200mi @ 30 40
        → 2 TERM 40

        the small job was signalled and is leaving
        memory-per-user 1000
        env a uid 1003 live 1003 on 0; process 1 started -60 in a uid 1003 on 0=900mi; process 2 started 5 in a uid 1003 on 0=200mi @ 10-60/10
        → 2 TERM 40

        a job that is terminated for the memory of its user and does not exit is killed
        memory-per-user 1000
        env a uid 1003 live 1003 on 0; process 1 started -60 in a uid 1003 on 0=900mi; process 2 started 5 in a uid 1003 on 0=200mi @ 10-80/10
        → 2 TERM 40, 2 KILL 70

        a strike of six seconds against the attachment of the small job changes nothing in its environment
        env a capacity 1000mi on 0,1; process 1 started -60 in a on 0=900mi; process 2 started 5 in a on 0=400mi,1 @ 10-30/2
        env a capacity 1000mi on 0; process 1 started -60 in a on 0=900mi; process 2 started 5 in a on 0=400mi,1 @ 32-38/2
        env a capacity 1000mi on 0,1; process 1 started -60 in a on 0=900mi; process 2 started 5 in a on 0=400mi,1 @ 40 42
        → 2 TERM 40

        a strike of six seconds against the capacity ends no job
        env a capacity 2000mi on 0; process 1 started -60 in a on 0=900mi; process 2 started 5 in a on 0=400mi @ 10-30/2
        env a capacity 800mi on 0; process 1 started -60 in a on 0=900mi; process 2 started 5 in a on 0=400mi @ 32-38/2
        env a capacity 2000mi on 0; process 1 started -60 in a on 0=900mi; process 2 started 5 in a on 0=400mi @ 40-60/2
        → nothing

        a strike of four seconds against the capacity while the small job waits
        env a capacity 1000mi on 0; process 1 started -60 in a on 0=900mi; process 2 started 5 in a on 0=400mi @ 10-30/2
        env a capacity 450mi on 0; process 1 started -60 in a on 0=900mi; process 2 started 5 in a on 0=400mi @ 32-36/2
        env a capacity 1000mi on 0; process 1 started -60 in a on 0=900mi; process 2 started 5 in a on 0=400mi @ 38 40
        → 2 TERM 40\
        """;

    private static final String YOUNG_PROCESSES = """
        short jobs in a loop get one grace period together
        env a uid 1003; process NEXT young in a uid 1003 on 0 @ 0-30/10
        env a uid 1003; process 7 young in a uid 1003 on 0 @ 40
        env a uid 1003; env b uid 1004; process 8 young in b uid 1004 on 0 @ 50
        → 130 TERM 30, 7 TERM 40

        short jobs get a grace period in each environment
        env a uid 1003; env b uid 1003; process NEXT young in a uid 1003 on 0 @ 0-30/10
        env a uid 1003; env b uid 1003; process 8 young in b uid 1003 on 0 @ 40 50
        → 130 TERM 30

        random ids are no way out
        without non-env-processes
        process NEXT young in rNEXT uid 1003 on 0 @ 0-30/10
        → 130 TERM 30

        processes of root, who is many users, have no common clock
        env a uid 0; process NEXT young in a uid 0 on 0 @ 0-90/10
        → nothing

        a process that has run for long and begins to break a rule
        env a uid 1003 on 0; process 1 started -60 in a uid 1003 on 1; process 2 started -60 in a uid 1003 on 0 @ 0-30/10
        env a uid 1003; process 2 started -60 in a uid 1003 on 0 @ 40 50
        → 1 TERM 30

        a later process that is not young
        env a uid 1003; process NEXT young in a uid 1003 on 0 @ 0-50/10
        env a uid 1003; process 7 started 25 in a uid 1003 on 0 @ 60
        → 130 TERM 30, 140 TERM 40, 150 TERM 50

        a young process that was signalled is killed in time
        env a uid 1003; process NEXT young in a uid 1003 on 0 @ 0-30/10
        env a uid 1003; process 7 started 38 in a uid 1003 on 0 @ 40-70/10
        → 130 TERM 30, 7 TERM 40, 7 KILL 70\
        """;

    /** Time in which the service is suspended or does not observe: an interval of ten seconds counts at most twice. */
    private static final String GAPS = """
        the service is suspended during the grace period
        interval 10
        grace 60
        stray 0 18000 18010 18020 18030 18040
        → 1 TERM 18040

        the service is suspended before SIGKILL
        interval 10
        grace 0
        stray 0 18000 18010
        → 1 TERM 0, 1 KILL 18010

        cycles break off during the grace period
        interval 10
        grace 60
        stray 0
        break-off 10-300/10
        stray 310-350/10
        → 1 TERM 350

        cycles break off before SIGKILL
        interval 10
        grace 0
        stray 0
        break-off 10-300/10
        stray 310 320
        → 1 TERM 0, 1 KILL 320

        the host does not answer during the grace period
        interval 10
        grace 60
        stray 0
        unreachable 10-300/10
        stray 310-360/10
        → 1 TERM 360

        half of the time without an answer counts before SIGKILL
        interval 10
        grace 0
        stray 0
        unreachable 10-300/10
        stray 310 320 330
        → 1 TERM 0, 1 KILL 330\
        """;

    /** The kernel's proof of both uids is the same from the first observation on, but who wrote the entry before it is unknown. */
    private static final String FIRST_OBSERVATION = """
        a stranger that ran before the service is never terminated
        with env-owner
        env a uid 1003 live 1003 on 0; process 1 started -500 in a uid 1004 on 0 @ 0
        env a uid 1003 live 1003 on 0; process 1 started -500 in a uid 1004 on 0; process 2 started 5 in a uid 1004 on 0 @ 10-200/10
        → 2 TERM 40, 2 KILL 70\
        """;

    static Stream<TableRow> rows() {
        return TableRow.in(CLOCKS, MACHINES, ENTRIES, WAITING, OTHER_VICTIMS, YOUNG_PROCESSES);
    }

    static Stream<TableRow> rowsWithoutAnEarlierObservation() {
        return TableRow.in(GAPS, FIRST_OBSERVATION);
    }

    @ParameterizedTest
    @MethodSource("rows")
    void actionsFollowAsDescribed(TableRow row) {
        follow("observed-before");
        follow("interval 600");
        follow("grace 30");
        verify(row);
    }

    @ParameterizedTest
    @MethodSource("rowsWithoutAnEarlierObservation")
    void actionsFollowWithoutAnEarlierObservation(TableRow row) {
        follow("grace 30");
        verify(row);
    }
}
