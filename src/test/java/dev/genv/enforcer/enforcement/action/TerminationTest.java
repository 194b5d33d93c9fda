package dev.genv.enforcer.enforcement.action;

import static dev.genv.enforcer.testsupport.builder.GpuProcessBuilder.process;
import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.params.provider.Arguments.arguments;

import dev.genv.enforcer.enforcement.action.Termination.Asked;
import dev.genv.enforcer.enforcement.action.Termination.Compliant;
import dev.genv.enforcer.enforcement.action.Termination.Exited;
import dev.genv.enforcer.enforcement.action.Termination.Forgotten;
import dev.genv.enforcer.enforcement.action.Termination.Killed;
import dev.genv.enforcer.enforcement.action.Termination.Overdue;
import dev.genv.enforcer.enforcement.action.Termination.Pending;
import dev.genv.enforcer.enforcement.action.Termination.PerhapsAsked;
import dev.genv.enforcer.enforcement.action.Termination.Sighting;
import dev.genv.enforcer.enforcement.action.Termination.TerminationTimes;
import dev.genv.enforcer.enforcement.action.Termination.Unkillable;
import dev.genv.enforcer.policy.Action;
import dev.genv.enforcer.policy.Action.Signal;
import dev.genv.enforcer.policy.Plan.PlannedAction;
import java.time.Duration;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/** SIGKILL follows after 30 s, a compliant process is forgotten after 60 s, and a killed one is unkillable after 10 s. */
class TerminationTest {
    private static final TerminationTimes TIMES = new TerminationTimes(Duration.ofSeconds(30), Duration.ofSeconds(60));
    private static final TerminationTimes NEVER_KILLS = new TerminationTimes(null, Duration.ofSeconds(60));
    private static final PlannedAction TERM = planned(Signal.TERM);
    private static final PlannedAction KILL = planned(Signal.KILL);

    private static final Pending ASKED = Termination.signalled(TERM, 0);
    private static final Pending PERHAPS = Termination.possiblySignalled(TERM, 0);
    private static final Pending OVERDUE = pending(ASKED, Sighting.BREAKS_RULES, 30);
    private static final Pending KILLED = Termination.killed(OVERDUE, KILL, seconds(30));
    private static final Pending UNKILLABLE = pending(KILLED, Sighting.BREAKS_RULES, 40);
    /** It broke rules for 10 s. */
    private static final Pending COMPLIANT = pending(ASKED, Sighting.COMPLIES, 10);

    @ParameterizedTest(name = "{0} {1} at {2} s: {3}")
    @MethodSource
    void changesItsStateWithEachObservation(
            Class<? extends Pending> from, Sighting sighting, int second, Class<? extends Termination> to) {
        assertThat(Termination.observed(state(from), sighting, seconds(second), TIMES))
                .isInstanceOf(to);
    }

    static Stream<Arguments> changesItsStateWithEachObservation() {
        return Stream.of(
                arguments(Asked.class, Sighting.BREAKS_RULES, 29, Asked.class),
                arguments(Asked.class, Sighting.BREAKS_RULES, 30, Overdue.class),
                arguments(Asked.class, Sighting.COMPLIES, 29, Compliant.class),
                arguments(Asked.class, Sighting.UNKNOWN, 3600, Asked.class),
                arguments(Asked.class, Sighting.HOST_NOT_LISTED, 3600, Asked.class),
                arguments(Asked.class, Sighting.HOST_NOT_LISTED, 3601, Forgotten.class),
                arguments(Asked.class, Sighting.EXITED, 1, Exited.class),
                arguments(PerhapsAsked.class, Sighting.BREAKS_RULES, 29, PerhapsAsked.class),
                arguments(PerhapsAsked.class, Sighting.BREAKS_RULES, 30, Forgotten.class),
                arguments(PerhapsAsked.class, Sighting.COMPLIES, 1, Compliant.class),
                arguments(PerhapsAsked.class, Sighting.UNKNOWN, 100, PerhapsAsked.class),
                arguments(PerhapsAsked.class, Sighting.HOST_NOT_LISTED, 3601, Forgotten.class),
                arguments(PerhapsAsked.class, Sighting.EXITED, 1, Exited.class),
                arguments(Overdue.class, Sighting.BREAKS_RULES, 31, Overdue.class),
                arguments(Overdue.class, Sighting.COMPLIES, 31, Compliant.class),
                arguments(Overdue.class, Sighting.UNKNOWN, 31, Asked.class),
                arguments(Overdue.class, Sighting.HOST_NOT_LISTED, 31, Asked.class),
                arguments(Overdue.class, Sighting.EXITED, 31, Exited.class),
                arguments(Killed.class, Sighting.BREAKS_RULES, 39, Killed.class),
                arguments(Killed.class, Sighting.BREAKS_RULES, 40, Unkillable.class),
                arguments(Killed.class, Sighting.COMPLIES, 40, Compliant.class),
                arguments(Killed.class, Sighting.UNKNOWN, 40, Killed.class),
                arguments(Killed.class, Sighting.HOST_NOT_LISTED, 40, Killed.class),
                arguments(Killed.class, Sighting.EXITED, 31, Exited.class),
                arguments(Unkillable.class, Sighting.BREAKS_RULES, 50, Unkillable.class),
                arguments(Unkillable.class, Sighting.COMPLIES, 50, Compliant.class),
                arguments(Unkillable.class, Sighting.UNKNOWN, 50, Killed.class),
                arguments(Unkillable.class, Sighting.HOST_NOT_LISTED, 3601, Forgotten.class),
                arguments(Unkillable.class, Sighting.EXITED, 50, Exited.class),
                arguments(Compliant.class, Sighting.BREAKS_RULES, 20, Asked.class),
                arguments(Compliant.class, Sighting.COMPLIES, 69, Compliant.class),
                arguments(Compliant.class, Sighting.COMPLIES, 70, Forgotten.class),
                arguments(Compliant.class, Sighting.UNKNOWN, 70, Compliant.class),
                arguments(Compliant.class, Sighting.HOST_NOT_LISTED, 3601, Forgotten.class),
                arguments(Compliant.class, Sighting.EXITED, 11, Exited.class));
    }

    @Test
    void coversEveryStateWithEverySighting() {
        assertThat(changesItsStateWithEachObservation()
                        .map(row -> List.of(row.get()[0], row.get()[1]))
                        .distinct())
                .hasSize(6 * Sighting.values().length);
    }

    @ParameterizedTest(name = "{0} after compliance")
    @MethodSource("states")
    void continuesAsBeforeAfterCompliance(Pending before) {
        var compliant = pending(before, Sighting.COMPLIES, 50);
        var after = Termination.observed(compliant, Sighting.BREAKS_RULES, seconds(51), TIMES);

        assertThat(after)
                .isInstanceOf(
                        switch (before) {
                            case PerhapsAsked _ -> PerhapsAsked.class;
                            case Killed _, Unkillable _ -> Unkillable.class;
                            case Overdue _ -> Overdue.class;
                            case Pending _ -> Asked.class;
                        });
    }

    static Stream<Pending> states() {
        return Stream.of(ASKED, PERHAPS, OVERDUE, KILLED, UNKILLABLE, COMPLIANT);
    }

    @Test
    void aCompliantProcessThatIsNotObservedIsForgottenAtTheNextObservation() {
        var unobserved = pending(COMPLIANT, Sighting.UNKNOWN, 100);

        assertThat(Termination.observed(unobserved, Sighting.COMPLIES, seconds(101), TIMES))
                .isEqualTo(new Forgotten());
    }

    @Test
    void timeWithoutObservationCountsForHalfOfTheTimeUntilSigkill() {
        var unobserved = pending(ASKED, Sighting.UNKNOWN, 1000);
        var back = pending(unobserved, Sighting.BREAKS_RULES, 2000);

        assertThat(back.progress().brokenFor()).isEqualTo(Duration.ofSeconds(15));
        assertThat(pending(back, Sighting.BREAKS_RULES, 2015)).isInstanceOf(Overdue.class);
    }

    @Test
    void timeUntilItCompliesCountsForAtMostHalfOfTheTimeUntilSigkill() {
        assertThat(pending(ASKED, Sighting.COMPLIES, 10).progress().brokenFor()).isEqualTo(Duration.ofSeconds(10));
        assertThat(pending(ASKED, Sighting.COMPLIES, 100).progress().brokenFor())
                .isEqualTo(Duration.ofSeconds(15));
    }

    @Test
    void compliantTimeDoesNotCount() {
        var again = pending(COMPLIANT, Sighting.BREAKS_RULES, 60);

        assertThat(again.progress().brokenFor()).isEqualTo(Duration.ofSeconds(10));
        assertThat(pending(again, Sighting.BREAKS_RULES, 80)).isInstanceOf(Overdue.class);
    }

    @Test
    void neverBecomesOverdueWhenKillingIsDisabled() {
        assertThat(Termination.observed(ASKED, Sighting.BREAKS_RULES, seconds(100_000), NEVER_KILLS))
                .isInstanceOf(Asked.class);
        assertThat(Termination.observed(PERHAPS, Sighting.BREAKS_RULES, seconds(60), NEVER_KILLS))
                .as("the lost SIGTERM is sent again")
                .isEqualTo(new Forgotten());
    }

    @Test
    void lastActionIsReportedWithTheExit() {
        assertThat(Termination.observed(ASKED, Sighting.EXITED, 1, TIMES)).isEqualTo(new Exited(TERM));
        assertThat(Termination.observed(KILLED, Sighting.EXITED, 1, TIMES)).isEqualTo(new Exited(KILL));
    }

    /** The result of SIGKILL may come late, after an observation without the process. */
    @Test
    void aCompliantProcessThatIsKilledStaysCompliant() {
        assertThat(Termination.killed(COMPLIANT, KILL, seconds(20)))
                .isInstanceOfSatisfying(Compliant.class, compliant -> {
                    assertThat(compliant.before()).isInstanceOf(Killed.class);
                    assertThat(compliant.since()).isEqualTo(seconds(10));
                });
    }

    private static Pending state(Class<? extends Pending> type) {
        return states().filter(type::isInstance).findFirst().orElseThrow();
    }

    private static Pending pending(Pending before, Sighting sighting, int second) {
        return (Pending) Termination.observed(before, sighting, seconds(second), TIMES);
    }

    private static long seconds(int seconds) {
        return Duration.ofSeconds(seconds).toNanos();
    }

    private static PlannedAction planned(Signal signal) {
        var action = new Action.Terminate("here", process(1).uses(0).build(), signal);
        return new PlannedAction(action, List.of(), true);
    }
}
