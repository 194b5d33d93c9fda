package dev.genv.enforcer.observation;

import static org.assertj.core.api.Assertions.assertThat;

import dev.genv.enforcer.model.Membership;
import dev.genv.enforcer.model.Membership.MembershipSource;
import dev.genv.enforcer.observation.ProcessIdentity.ObservedProcess;
import dev.genv.enforcer.testsupport.TableRow;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * To which environment a process belongs that has overwritten its environ. At first, process 100 of user 1003 is a
 * shell in environment a that leads the session 100, and process 812, its child in that session, has overwritten its environ. A pid and the
 * words of {@link FactsMachine} add a process, which has overwritten its environ and was started at the tick of its pid, or change one.
 * {@code decide} observes the job, and {@code anew} does so for the first time.
 */
class MembershipTableTest {
    private static final int JOB = 812;
    private static final String OVERWRITTEN = "it has overwritten its environ, and ";
    private static final String ANCESTORS = """
            the parent
            812
            → in a by ANCESTOR

            an intact environ decides, whatever the parent names
            812 in b; anew; 812 outside; anew
            → in b by ENVIRON, outside by ENVIRON

            an environ that cannot be read, whatever the parent names
            812 unread
            → unknown: its environ cannot be read: no time was left

            the nearest intact ancestor, above those that have overwritten theirs
            200 parent 100 session 100; 300 parent 200 session 100 in b; 400 parent 300 session 100; 812 parent 400
            → in b by ANCESTOR

            the nearest intact ancestor names no environment: genv may have given it one
            200 parent 100 session 100 outside; 812 parent 200
            → unknown: no ancestor shows to which environment it belongs

            an ancestor that cannot be read
            200 parent 100 session 100 unread; 812 parent 200
            → unknown: the environ of its ancestor 200 cannot be read

            a process that overwrote its environ is between the job and a process of another user
            200 parent 100 session 100 uid 1004; 812 parent 200; anew; 100 in b uid 1004; anew
            → unknown: no ancestor shows to which environment it belongs, unknown

            another user's parent
            100 uid 1004
            → unknown: no ancestor shows to which environment it belongs

            the first process adopts orphans
            1 parent 0 in a; 812 parent 1
            → unknown: no ancestor shows to which environment it belongs

            a parent outside of the PID namespace
            100 overwritten parent 0; decide; strict; decide
            → unknown: its ancestors cannot be read, unknown: its ancestors cannot be read

            63, 64 and 65 steps
            chain 63; anew; chain 64; anew; chain 65; anew
            → in a by ANCESTOR, in a by ANCESTOR, unknown: no ancestor shows to which environment it belongs""";

    /** A subreaper adopts the children of others. */
    private static final String SESSIONS = """
            a parent in another session, which may have adopted the job
            50 in b; 812 parent 50
            → unknown: no ancestor shows to which environment it belongs

            a job that began a session
            812 session 812
            → in a by ANCESTOR

            the ancestor of a leader of a session
            200 parent 100 session 200; 812 parent 200 session 200
            → in a by ANCESTOR

            a leader of a session, and above it a parent that may have adopted
            50 in b; 200 parent 50 session 100; 300 parent 200 session 300; 812 parent 300 session 300
            → unknown: no ancestor shows to which environment it belongs

            processes without a session, which began outside of the PID namespace
            100 session 0; 812 session 0; decide; strict; decide
            → unknown: the session of its ancestor 100 is unknown, unknown: the session of its ancestor 100 is unknown

            a job whose session began in the PID namespace, and that of its parent outside
            100 session 0; 812 session 811
            → unknown: no ancestor shows to which environment it belongs""";

    /** What was not read is never taken for what is not there. */
    private static final String UNKNOWN = """
            a parent that was not read
            without 100; anew; strict; decide
            → unknown: its ancestors cannot be read, unknown: its ancestors cannot be read

            a younger process with the pid of the parent
            100 start 813; anew; strict; decide
            → unknown: its ancestors cannot be read, unknown: its ancestors cannot be read

            a job or an ancestor that got another parent while it was read
            812 moving; strict; decide; 812 parent 100 session 100; 100 moving; decide
            → unknown: its ancestors cannot be read, unknown: its ancestors cannot be read

            an unknown real uid
            100 uid ?; strict; decide
            → unknown: its ancestors cannot be read

            an ancestor that executed a program while it was read
            200 parent 100 session 100 executing; 812 parent 200; strict; decide
            → unknown: its ancestor 200 executed a program meanwhile

            an environ that cannot be read, and the setting
            strict; 100 unread; decide
            → unknown: the environ of its ancestor 100 cannot be read""";

    private static final String ROOT = """
            root of the machine is many users, also with the setting
            100 uid 0; 812 uid 0; decide; strict; decide; 812 namespaces ?; decide
            → unknown: root starts programs for all users, so its other processes prove nothing, unknown: root starts, unknown: root starts

            root of a container is one user
            100 uid 0 namespaces 2; 812 uid 0 namespaces 2
            → in a by ANCESTOR

            the chain of root ends at the border of its container
            100 uid 0; 812 uid 0 namespaces 2; anew; 100 namespaces 3; anew
            → unknown: no ancestor shows to which environment it belongs, unknown: no ancestor

            an ancestor of root in unknown namespaces
            100 uid 0 namespaces ?; 812 uid 0 namespaces 2; strict; decide
            → unknown: its ancestors cannot be read

            a user's container
            812 namespaces 2
            → in a by ANCESTOR""";

    private static final String HISTORY = """
            a program that overwrites its environ stays where it was
            812 in b; decide; 812 overwritten; decide; without 100; decide
            → in b by ENVIRON, in b by EARLIER, in b by EARLIER

            a program that named no environment, and has overwritten its environ
            812 outside; decide; 812 overwritten; decide
            → outside by ENVIRON, outside by EARLIER

            an environ that is intact again
            812 in b; decide; 812 overwritten; decide; 812 in c; decide; 812 overwritten; decide
            → in b by ENVIRON, in b by EARLIER, in c by ENVIRON, in c by EARLIER

            a membership that was found, after the ancestor has exited
            decide; without 100; 812 parent 1; decide
            → in a by ANCESTOR, in a by ANCESTOR

            another program of the process
            812 in b; decide; 812 overwritten executed 1; decide
            → in b by ENVIRON, in a by ANCESTOR

            a later process with the pid
            812 in b; decide; 812 overwritten start 813; decide
            → in b by ENVIRON, in a by ANCESTOR

            a process that is no longer on a GPU
            812 in b; decide; 812 overwritten; retain 812; decide; retain; decide
            → in b by ENVIRON, in b by EARLIER, in a by ANCESTOR

            an unknown membership is not kept
            100 outside; decide; 100 in a; decide
            → unknown: no ancestor shows to which environment it belongs, in a by ANCESTOR""";

    /** A process is outside if nothing is found: GENV_ENFORCER_OVERWRITTEN_ENVIRON. */
    private static final String SETTING = """
            what is found comes first
            strict; decide
            → in a by ANCESTOR

            an ancestor without an environment, and one that becomes visible later
            strict; 100 outside; decide; 100 in a; decide
            → outside by SETTING, in a by ANCESTOR

            no ancestor
            strict; 812 parent 1; decide
            → outside by SETTING

            a parent that may have adopted the job
            strict; 50 in b; 812 parent 50; decide
            → outside by SETTING""";

    private final FactsMachine machine = new FactsMachine();
    private final Set<String> pids = new HashSet<>();
    private final List<String> found = new ArrayList<>();
    private MembershipResolver resolver = new MembershipResolver(false);

    private void follow(String text) {
        for (var step : text.split("; ", -1)) {
            var words = List.of(step.split(" ", -1));
            var last = words.getLast();
            switch (words.getFirst()) {
                case "without" -> machine.follow("exit " + last);
                // Children of the shell, each the parent of the next one and the last one that of the job.
                case "chain" -> {
                    var end = 200 + Integer.parseInt(last);
                    for (var pid = 201; pid < end; pid++) {
                        follow("%d parent %d session 100".formatted(pid, pid == 201 ? 100 : pid - 1));
                    }
                    follow("812 parent " + (end == 201 ? 100 : end - 1));
                }
                case "strict" -> resolver = new MembershipResolver(true);
                case "decide" -> found.add(describe(decide(JOB)));
                case "anew" -> {
                    resolver = new MembershipResolver(false);
                    follow("decide");
                }
                case "retain" ->
                    resolver.retain(
                            last.equals("retain")
                                    ? Set.of()
                                    : Set.of(observed(Integer.parseInt(last)).id()));
                default -> {
                    var pid = words.getFirst();
                    if (pids.add(pid)) {
                        machine.follow("%1$s overwritten start %1$s session %1$s".formatted(pid));
                    }
                    machine.follow(step);
                }
            }
        }
    }

    private MembershipResolver.Decision decide(int pid) {
        var process = observed(pid);
        return resolver.decide(process, Ancestors.of(machine.observed()).of(process));
    }

    private ObservedProcess observed(int pid) {
        return machine.observed()
                .filter(process -> process.pid() == pid)
                .findFirst()
                .orElseThrow();
    }

    private static String describe(MembershipResolver.Decision decision) {
        return switch (decision.membership()) {
            case Membership.InEnvironment(var eid) -> "in " + eid + " by " + decision.by();
            case Membership.Outside _ -> "outside by " + decision.by();
            case Membership.Unknown unknown -> "unknown: " + unknown.reason().replace(OVERWRITTEN, "");
        };
    }

    @BeforeEach
    void createTheShellAndItsJob() {
        follow("100 in a; 812 overwritten parent 100 start 812 session 100");
    }

    static Stream<TableRow> rows() {
        return TableRow.in(ANCESTORS, SESSIONS, UNKNOWN, ROOT, HISTORY, SETTING);
    }

    @ParameterizedTest
    @MethodSource("rows")
    void membershipIsAsDescribed(TableRow row) {
        follow(row.lines().getFirst());
        var expected = List.of(row.expected().substring(2).split(", (?=in |outside|unknown)", -1));
        if (found.isEmpty()) {
            follow("decide");
        }
        assertThat(found).hasSameSizeAs(expected);
        for (var i = 0; i < found.size(); i++) {
            assertThat(found.get(i)).startsWith(expected.get(i));
        }
    }

    /** Only a complete observation shows which processes have exited. */
    @Test
    void forgetsTheProcessThatWasNotSeenForTheLongestTimeIfThereAreTooMany() {
        follow("decide; 813 parent 100 session 100");
        decide(JOB + 1);
        for (var later = 0; later < MembershipResolver.MAX_REMEMBERED - 1; later++) {
            follow("2000 parent 100 session 100 start " + (10_000 + later));
            decide(2000);
            if (later % 1000 == 0) {
                decide(JOB + 1);
            }
        }
        follow("100 in b");
        assertThat(decide(JOB + 1))
                .isEqualTo(
                        new MembershipResolver.Decision(new Membership.InEnvironment("a"), MembershipSource.ANCESTOR));
        assertThat(decide(JOB).membership()).isEqualTo(new Membership.InEnvironment("b"));
    }
}
