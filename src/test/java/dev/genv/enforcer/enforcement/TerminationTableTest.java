package dev.genv.enforcer.enforcement;

import dev.genv.enforcer.testsupport.TableRow;
import java.util.stream.Stream;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** Which signals follow after SIGTERM, and which processes wait for the termination limit. Without a grace period. */
class TerminationTableTest extends CycleTable {
    /** A signalled process breaks no rule for a while, or is not observed. */
    private static final String COMPLIANCE = """
        a compliant process is not killed
        stray 0
        empty 10 20 30 40 50 60 120
        → 1 TERM 0

        a process that is not observed for a while is signalled once
        kill-after never
        stray 0
        empty 1
        stray 600 610
        → 1 TERM 0

        SIGTERM again after a minute of compliance
        stray 0
        empty 10 20 70
        stray 80 109 110
        → 1 TERM 0, 1 TERM 80, 1 KILL 110

        a process that breaks the rule in every second observation only
        stray 0
        empty 10
        stray 20
        empty 30
        stray 40
        empty 50
        stray 60
        → 1 TERM 0, 1 KILL 60

        a long interval that ends in compliance counts for half of the time until SIGKILL
        stray 0
        empty 3600
        stray 3650 3664 3665
        → 1 TERM 0, 1 KILL 3665

        the time until SIGKILL goes on within the compliance period
        compliance-period 600
        stray 0 10
        empty 20 619
        stray 629 639
        → 1 TERM 0, 1 KILL 639

        time of compliance does not count
        stray 0 10
        empty 20 60
        stray 70 79 80
        → 1 TERM 0, 1 KILL 80

        the time until SIGKILL stands still after an incomplete observation
        stray 0
        unobserved 10 30 90
        stray 100 119 120
        → 1 TERM 0, 1 KILL 120

        a compliant process is forgotten while another one is not observed
        full 0
        incomplete 10 70 80
        full 90 100
        → 1 TERM 0, 1 TERM 90\
        """;

    private static final String ESCALATION = """
        SIGKILL once, if the violation persists
        stray 0 10 20 29 30 39
        → 1 TERM 0, 1 KILL 30

        no SIGKILL without a time for it
        kill-after never
        stray 0 30 60 3600
        → 1 TERM 0

        a denied SIGTERM is tried again
        deny TERM
        stray 0 10
        → 1 TERM 0, 1 TERM 10

        a denied SIGKILL is tried again
        stray 0
        deny KILL
        stray 30 40
        → 1 TERM 0, 1 KILL 30, 1 KILL 40

        a new process with the same pid gets SIGTERM
        stray 0
        stray-later 30
        → 1 TERM 0, 1 TERM 30

        a process that was terminated for memory and gave it back
        full 0 10 20
        dropped 30 39
        → 1 TERM 0, 2 TERM 30

        a process that was terminated for memory, and the capacity suffices
        full 0
        alone 10 30 40
        → 1 TERM 0\
        """;

    /** The answer to SIGTERM was lost, or the host is not in the list for a while. */
    private static final String LOST_ANSWERS = """
        SIGTERM that may have been sent is repeated after the time until SIGKILL
        lose-answers
        stray 0
        answer
        stray 10 20 30 40 50 60
        → 1 TERM 0, 1 TERM 30, 1 KILL 60

        SIGTERM is repeated after the time until SIGKILL also if its execution failed in an unknown way
        fail
        stray 0
        answer
        stray 10 20 29 30 40 50 60
        → 1 TERM 0, 1 TERM 30, 1 KILL 60

        no SIGKILL follows SIGTERM that may have been sent
        kill-after 10
        lose-answers
        stray 0 10 20
        → 1 TERM 0, 1 TERM 10, 1 TERM 20

        SIGTERM that may have been sent is forgotten after a minute of compliance
        lose-answers
        stray 0
        answer
        empty 10 69
        stray 70
        empty 71 131
        stray 132
        → 1 TERM 0, 1 TERM 132

        a process that obeyed at a long interval is not killed at a later strike
        lose-answers
        answer
        stray 0
        empty 3600
        stray 3650
        → 1 TERM 0

        SIGTERM that may have been sent is repeated without a time until SIGKILL
        kill-after never
        lose-answers
        stray 0 30 60
        → 1 TERM 0, 1 TERM 60

        a host that is not in the list for less than an hour
        stray 0
        unlist
        stray 10 1000
        list
        stray 1010
        → 1 TERM 0

        a host that is not in the list after the grace period
        grace 30
        stray 0 10 20 30
        unlist
        stray 40 50 1000
        list
        stray 1010
        → 1 TERM 30

        a host that is not in the list for an hour
        stray 0
        unlist
        stray 10 3600
        list
        stray 3610
        → 1 TERM 0

        a host that is not in the list for a moment, long after the service was started
        empty 0
        stray 4000
        unlist
        stray 4010
        list
        stray 4020
        → 1 TERM 4000

        a host that is not in the list for a moment, long after the signal
        kill-after never
        stray 0 4000
        unlist
        stray 4010
        list
        stray 4020
        → 1 TERM 0

        a host that is not in the list for more than an hour
        stray 0
        unlist
        stray 1010 5000
        list
        stray 5010
        → 1 TERM 0, 1 TERM 5010\
        """;

    /** Until a process that was terminated for memory exits, no other process is terminated for that memory. */
    private static final String SECOND_VICTIMS = """
        no other process while the killed one is still there
        full 0 10 20 30
        slightly-less 39
        → 1 TERM 0, 1 KILL 30

        no other process at an interval above the time until SIGKILL
        full 0
        slightly-less 60
        → 1 TERM 0, 1 KILL 60

        the process that was asked before any other
        full 0 10 20
        slightly-less 30 39
        → 1 TERM 0, 1 KILL 30

        another one if the kernel cannot remove the first
        full 0 10 20 30
        slightly-less 40 50
        → 1 TERM 0, 1 KILL 30, 2 TERM 50

        another one if the memory of the first counts only a while later
        full 0 10 20 30
        more-capacity 40 50
        slightly-less 60
        → 1 TERM 0, 1 KILL 30, 2 TERM 60

        no other process after a missed observation before SIGKILL
        full 0 10 20 29
        unobserved 44
        slightly-less 54 60
        → 1 TERM 0, 1 KILL 54

        a process that obeyed is not killed for the memory of its environment
        stray 0 10 20
        full 30 40 50
        → 1 TERM 0

        another one if SIGKILL is denied
        full 0 10 20
        deny KILL
        slightly-less 30 39 45 50
        → 1 TERM 0, 1 KILL 30, 1 KILL 39, 1 KILL 45, 2 TERM 50

        another one if SIGKILL is denied after a time of compliance
        full 0 10
        more-capacity 20
        full 30
        deny KILL
        slightly-less 40 45 50 55
        → 1 TERM 0, 1 KILL 40, 1 KILL 45, 1 KILL 50, 2 TERM 55

        no other one within that minute, long after the service was started
        kill-after never
        observed-before
        full 0
        slightly-less 10 59
        → 1 TERM 0

        another one after a minute if there is no SIGKILL
        kill-after never
        full 0 10
        slightly-less 59 60
        → 1 TERM 0, 2 TERM 60\
        """;

    private static final String LIMITS = """
        a cycle terminates a limited number of processes
        limit 2
        process 1 on 0; process 2 on 0; process 3 on 0; process 4 on 0; process 5 on 0 @ 0 10 20
        → 1 TERM 0, 2 TERM 0, 3 TERM 10, 4 TERM 10, 5 TERM 20

        a process that is not terminated anyway takes no place
        limit 1
        process 1 on 0 immune; process 2 on 0 @ 0
        → 2 TERM 0

        of equally long violations that of the older process first, then that of the lower pid
        limit 1
        process 1 later 9 on 0; process 3 on 0; process 2 on 0 @ 0
        → 2 TERM 0

        subordinate uids share the limit of their user
        limit 2
        subordinate 1001 200000 65536; process 1 uid 200000 on 0; process 2 uid 200001 on 0; process 4 uid 1002 on 0 @ 0
        → 1 TERM 0, 4 TERM 0

        subordinate uids that may be an account's share the limit of the user of their range
        limit 2
        subordinate 1001 200000 65536; process 1 uid 200000 owner-unknown on 0; process 2 uid 200001 owner-unknown on 0; process 4 uid 1002 on 0 @ 0
        → 1 TERM 0, 4 TERM 0

        an account with a subordinate uid is another user
        limit 2
        subordinate 1001 200000 65536; process 1 uid 1001 on 0; process 3 uid 1001 on 0; process 9 uid 200000 native on 0 @ 0
        → 1 TERM 0, 9 TERM 0

        the process that waits for the longest time first
        limit 1
        process 1 on 0; process 9 on 0 @ 0
        process 2 on 0; process 9 on 0 @ 10
        → 1 TERM 0, 9 TERM 10

        a denied signal does not delay a newer process
        limit 1
        deny 1
        process 1 on 0 @ 0
        process 1 on 0; process 9 on 0 @ 10
        → 1 TERM 0, 9 TERM 10

        denied signals of several processes do not delay others
        limit 1
        deny 1 2 3
        process 1 on 0; process 2 on 0; process 3 on 0; process 9 on 0 @ 0 10 20 30
        → 1 TERM 0, 2 TERM 10, 3 TERM 20, 9 TERM 30

        many processes of one user do not delay those of another
        limit 2
        process 1 uid 1001 on 0; process 2 uid 1001 on 0; process 3 uid 1001 on 0; process 4 uid 1001 on 0 @ 0
        process 3 uid 1001 on 0; process 4 uid 1001 on 0; process 9 uid 1002 on 0 @ 10
        → 1 TERM 0, 2 TERM 0, 3 TERM 10, 9 TERM 10

        of several users the one with the longest violation comes first
        limit 1
        process 1 uid 2001 on 0; process 2 uid 2002 on 0; process 9 uid 1002 on 0 @ 0
        process 2 uid 2002 on 0; process 3 uid 3001 on 0; process 4 uid 3002 on 0; process 9 uid 1002 on 0 @ 10
        process 3 uid 3001 on 0; process 4 uid 3002 on 0; process 9 uid 1002 on 0 @ 20
        → 1 TERM 0, 2 TERM 10, 9 TERM 20

        the processes that a user has left after one turn do not delay other users
        limit 2
        process 1 uid 2001 on 0; process 2 uid 2001 on 0; process 3 uid 2002 on 0; process 4 uid 2002 on 0; process 5 uid 2003 on 0; process 6 uid 2003 on 0 @ 0
        process 2 uid 2001 on 0; process 4 uid 2002 on 0; process 5 uid 2003 on 0; process 6 uid 2003 on 0; process 9 uid 1002 on 0 @ 10
        process 4 uid 2002 on 0; process 6 uid 2003 on 0; process 9 uid 1002 on 0 @ 20
        → 1 TERM 0, 3 TERM 0, 2 TERM 10, 4 TERM 10, 6 TERM 20, 9 TERM 20

        processes of unknown uids share one turn
        limit 2
        process 1 uid ? on 0; process 2 uid ? on 0; process 3 uid ? on 0; process 9 uid 1002 on 0 @ 0
        → 1 TERM 0, 9 TERM 0

        a user with denied signals has one turn
        limit 2
        deny 1 2 3
        process 1 uid 1001 on 0; process 2 uid 1001 on 0; process 3 uid 1001 on 0; process 7 uid 1002 on 0; process 8 uid 1002 on 0 @ 0 10
        → 1 TERM 0, 7 TERM 0, 2 TERM 10, 8 TERM 10

        new processes of an old violation wait their turn
        limit 1
        env a capacity 1mi on 0; process 1 in a on 0 @ 0
        env a capacity 1mi on 0; process 1 in a on 0; process 2 young in a on 0; process 9 on 0 @ 10
        env a capacity 1mi on 0; process 1 in a on 0; process 2 started 8 in a on 0; process 3 young in a on 0; process 9 on 0 @ 20
        → 1 TERM 0, 2 TERM 10, 9 TERM 20\
        """;

    /** What is recorded with the violations; a repetition is no news. */
    private static final String OUTCOMES = """
        a process that exits
        stray 0
        exited 1
        empty 10
        → signalled, exited

        a process that lets go of its device before it exits
        stray 0
        empty 10
        exited 1
        empty 20
        → signalled, exited

        a process that survives SIGKILL
        stray 0 30 39 40 50
        → signalled, signalled, unkillable

        a process that still runs less than ten seconds after SIGKILL
        stray 0 30 39
        → signalled, signalled

        an exit after SIGTERM that may have been sent
        lose-answers
        stray 0
        exited 1
        empty 10
        → failed, exited

        denied signals
        deny 1
        stray 0 10
        → denied

        the wait for the grace period
        grace 30
        stray 0 10 29 30
        → skipped_grace, signalled

        an immune process
        process 1 on 0 immune @ 0 60
        → skipped_protected

        an exempt environment
        devices-per-user 0
        env a exempt on 0 @ 0 60
        → skipped_exempt\
        """;

    /** What follows on each violation if nothing changes. */
    private static final String NEXT = """
        the grace period passes
        grace 30
        stray 0 10
        → 1 TERM 30 grace

        the time until SIGKILL passes
        stray 0 10
        → 1 KILL 30 kill_after

        time of compliance does not count
        stray 0 10
        empty 20
        stray 30
        → 1 KILL 40 kill_after

        no SIGKILL without a time for it
        kill-after never
        stray 0 10
        → nothing

        nothing after SIGKILL
        stray 0 30
        → nothing

        a denied SIGTERM is tried again in the next cycle
        deny TERM
        stray 0
        → 1 TERM 0 next_cycle

        a denied SIGKILL is tried again in the next cycle
        stray 0
        deny KILL
        stray 30 40
        → 1 KILL 40 next_cycle

        SIGTERM that may have been sent
        lose-answers
        stray 0
        → 1 TERM 30 unconfirmed_signal

        SIGTERM that may have been sent, without a time until SIGKILL
        kill-after never
        lose-answers
        stray 0 10
        → 1 TERM 60 unconfirmed_signal

        the termination limit
        limit 1
        process 1 on 0; process 2 on 0 @ 0
        → 2 TERM 0 termination_limit, 1 KILL 30 kill_after

        no signal follows to a process that has become immune
        stray 0
        process 1 on 0 immune @ 10
        → nothing

        the earliest first
        grace 30
        devices-per-user 0
        env b of alice uid 1003 on 1 @ 0
        env a of alice uid 1003 on 0; env b of alice uid 1003 on 1 @ 10
        → detach b 30 grace, detach a 40 grace\
        """;

    static Stream<TableRow> next() {
        return TableRow.in(NEXT);
    }

    static Stream<TableRow> outcomes() {
        return TableRow.in(OUTCOMES);
    }

    static Stream<TableRow> rows() {
        return TableRow.in(COMPLIANCE, ESCALATION, LOST_ANSWERS, SECOND_VICTIMS, LIMITS);
    }

    @ParameterizedTest
    @MethodSource("rows")
    void signalsFollowAsDescribed(TableRow row) {
        verify(row);
    }

    @ParameterizedTest
    @MethodSource("next")
    void followsAsDescribed(TableRow row) {
        verifyNext(row);
    }

    @ParameterizedTest
    @MethodSource("outcomes")
    void outcomesAreRecordedAsDescribed(TableRow row) {
        verifyOutcomes(row);
    }
}
