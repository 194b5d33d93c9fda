package dev.genv.enforcer.observation;

import static dev.genv.enforcer.observation.Relatives.JOB;
import static dev.genv.enforcer.observation.Relatives.SHELL;
import static org.assertj.core.api.Assertions.assertThat;

import dev.genv.enforcer.model.Membership;
import dev.genv.enforcer.model.Membership.MembershipSource;
import dev.genv.enforcer.model.ProcessId;
import dev.genv.enforcer.observation.MembershipResolver.Decision;
import dev.genv.enforcer.observation.MembershipResolver.MembershipHistory;
import java.util.Set;
import org.junit.jupiter.api.Test;

class MembershipHistoryTest {
    private static final Decision EARLIER = new Decision(new Membership.InEnvironment("a"), MembershipSource.EARLIER);
    private static final Decision OUTSIDE = new Decision(new Membership.Outside(), MembershipSource.ANCESTOR);

    private final MembershipResolver resolver = Relatives.resolver(false);
    private final Relatives machine = new Relatives();

    @Test
    void programThatOverwritesItsEnvironStaysWhereItWas() {
        assertThat(observe(machine.change(JOB).intact("a").add()))
                .isEqualTo(new Decision(new Membership.InEnvironment("a"), MembershipSource.ENVIRON));
        assertThat(resolver.settled()).isEmpty();
        assertThat(observe(machine.change(JOB).overwritten().add())).isEqualTo(EARLIER);
        assertThat(resolver.settled()).containsExactly(new ProcessId(JOB, JOB));
        assertThat(observe(machine.without(SHELL))).isEqualTo(EARLIER);
    }

    @Test
    void environThatIsIntactAgainDecides() {
        observe(machine.change(JOB).intact("a").add());
        observe(machine.change(JOB).overwritten().add());
        assertThat(observe(machine.change(JOB).intact("b").add()).membership())
                .isEqualTo(new Membership.InEnvironment("b"));
        assertThat(observe(machine.change(JOB).overwritten().add()).membership())
                .isEqualTo(new Membership.InEnvironment("b"));
    }

    @Test
    void inferredMembershipStaysAfterTheWitnessesHaveExited() {
        assertThat(observe(machine)).isEqualTo(OUTSIDE);
        assertThat(observe(machine.without(SHELL).change(JOB).add(1, JOB))).isEqualTo(OUTSIDE);
    }

    @Test
    void otherProgramOfTheProcessIsInferredAnew() {
        observe(machine.change(JOB).intact("a").add());
        assertThat(observe(machine.change(JOB).overwritten().executed(1).add())).isEqualTo(OUTSIDE);
    }

    /** Its relations were not gathered, because it was settled. It must not gain a cycle by each execve(2). */
    @Test
    void settledProcessWithAnotherProgramIsUnknownOnce() {
        observe(machine);
        assertThat(observe(machine.change(JOB).executed(1).add()))
                .isEqualTo(Decision.unknown("it runs another program than in the last observation"));
        assertThat(resolver.settled()).isEmpty();
        assertThat(observe(machine)).isEqualTo(OUTSIDE);
        assertThat(resolver.settled()).isEmpty();
        assertThat(observe(machine.change(JOB).executed(2).add())).isEqualTo(OUTSIDE);
    }

    @Test
    void laterProcessWithThePidIsAnotherOne() {
        observe(machine.change(JOB).intact("a").add());
        assertThat(observe(machine.change(JOB).overwritten().add(SHELL, JOB + 1)))
                .isEqualTo(OUTSIDE);
    }

    @Test
    void processThatIsNoLongerListedIsForgotten() {
        observe(machine.change(JOB).intact("a").add());
        machine.change(JOB).overwritten().add();
        resolver.retain(Set.of(new ProcessId(JOB, JOB)));
        assertThat(observe(machine)).isEqualTo(EARLIER);
        resolver.retain(Set.of());
        assertThat(resolver.settled()).isEmpty();
        assertThat(observe(machine)).isEqualTo(OUTSIDE);
    }

    /** Only a complete observation shows which processes have exited. */
    @Test
    void forgetsTheProcessThatWasNotSeenForTheLongestTimeIfThereAreTooMany() {
        observe(machine);
        machine.process(JOB + 1, SHELL).session(SHELL).add();
        observe(machine, JOB + 1);
        for (var later = 0; later < MembershipHistory.MAX_REMEMBERED - 1; later++) {
            machine.process(2000, SHELL).session(SHELL).add(SHELL, 10_000 + later);
            observe(machine, 2000);
            if (later % 1000 == 0) {
                observe(machine, JOB + 1);
            }
        }
        assertThat(resolver.settled())
                .hasSize(MembershipHistory.MAX_REMEMBERED)
                .contains(new ProcessId(JOB + 1, JOB + 1))
                .doesNotContain(new ProcessId(JOB, JOB));
    }

    private void observe(Relatives now, int pid) {
        now.decide(resolver, 5000, pid);
    }

    @Test
    void unknownMembershipIsNotRemembered() {
        observe(machine.incomplete());
        assertThat(resolver.settled()).isEmpty();
        assertThat(observe(machine.change(SHELL).intact("a").add()).by()).isEqualTo(MembershipSource.ANCESTOR);
    }

    @Test
    void settingMakesAProcessOutsideOnlyIfNothingIsFound() {
        var strict = Relatives.resolver(true);
        machine.change(SHELL).overwritten().add();
        assertThat(machine.decide(strict, 5000))
                .isEqualTo(new Decision(new Membership.Outside(), MembershipSource.SETTING));
        assertThat(strict.settled()).isEmpty();
        assertThat(machine.change(SHELL).intact("a").add().decide(strict, 5000).by())
                .isEqualTo(MembershipSource.ANCESTOR);
        var other = new Relatives().environment("b", Relatives.BOB, SHELL);
        assertThat(other.decide(Relatives.resolver(true), 5000).membership()).isInstanceOf(Membership.Unknown.class);
    }

    /** Another user could start so many processes that those of this one are left out. */
    @Test
    void settingDecidesNothingIfAProcessWasLeftOut() {
        machine.change(SHELL).overwritten().add();
        assertUnknownDespiteSetting(machine.incomplete(), Relatives.resolver(true));
    }

    @Test
    void settingDecidesNothingIfARelativeCannotBeRead() {
        assertUnknownDespiteSetting(machine.change(SHELL).unavailable().add(), Relatives.resolver(true));
        var orphan = new Relatives().change(JOB).add(1, JOB);
        assertUnknownDespiteSetting(orphan.change(SHELL).unavailable().add(), Relatives.resolver(true));
    }

    /** Another user could have removed it. */
    @Test
    void settingDecidesNothingIfTheShellWasListedOnce() {
        var strict = Relatives.resolver(true);
        machine.environment("100", Relatives.ALICE, SHELL).observeEnvironments(strict, 50);
        assertUnknownDespiteSetting(machine.noEnvironments(), strict);
        assertUnknownDespiteSetting(machine.without(SHELL).change(JOB).add(1, JOB), strict);
    }

    private static void assertUnknownDespiteSetting(Relatives machine, MembershipResolver strict) {
        assertThat(machine.decide(strict, 5000).membership()).isInstanceOf(Membership.Unknown.class);
    }

    private Decision observe(Relatives now) {
        return now.decide(resolver, 5000);
    }
}
