package dev.genv.enforcer.observation;

import static dev.genv.enforcer.observation.Relatives.ALICE;
import static dev.genv.enforcer.observation.Relatives.BOB;
import static dev.genv.enforcer.observation.Relatives.JOB;
import static dev.genv.enforcer.observation.Relatives.SHELL;
import static org.assertj.core.api.Assertions.assertThat;

import dev.genv.enforcer.model.Membership;
import dev.genv.enforcer.model.Membership.MembershipSource;
import dev.genv.enforcer.observation.MembershipResolver.Decision;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

/** genv sets the id of an environment in a running shell, so that only {@code envs.json} shows it, which every user can write. */
class ListedAncestorsTest {
    private static final Decision IN_100 = new Decision(new Membership.InEnvironment("100"), MembershipSource.LISTED);
    private static final Decision UNPROVEN =
            Decision.unknown("nothing proves the entry of envs.json that lists its ancestor 100");

    private final MembershipResolver resolver = Relatives.resolver(false);
    private final Relatives machine = new Relatives();

    /** Otherwise a user could list the shell of another user, who starts the process later. */
    @Test
    void shellThatWasListedBeforeTheProcessWasStartedIsNoProof() {
        machine.environment("100", ALICE, SHELL);
        machine.observeEnvironments(resolver, JOB - 1);
        assertThat(machine.decide(resolver, 5000)).isEqualTo(UNPROVEN);
    }

    @Test
    void environThatNamedTheEnvironmentBeforeProvesTheEntry() {
        observeWitness(JOB - 1);
        assertThat(machine.decide(resolver, 5000)).isEqualTo(IN_100);
    }

    /** Otherwise a user could list it again after the other user has left the environment. */
    @Test
    void shellThatIsListedAgainNeedsNewProof() {
        observeWitness(JOB - 1);
        machine.noEnvironments().observeEnvironments(resolver, JOB - 1);
        assertThat(machine.environment("100", ALICE, SHELL).decide(resolver, 5000))
                .isEqualTo(UNPROVEN);
    }

    @Test
    void entryThatWasChangedNeedsNewProof() {
        observeWitness(JOB - 1);
        assertThat(machine.noEnvironments().environment("200", ALICE, SHELL).decide(resolver, 5000))
                .isEqualTo(UNPROVEN);
    }

    @Test
    void proofForAnEarlierProcessWithThePidIsNone() {
        observeWitness(50);
        assertThat(machine.decide(resolver, 5000)).isEqualTo(UNPROVEN);
    }

    private void observeWitness(long ticks) {
        machine.environment("100", ALICE, SHELL);
        machine.process(900, SHELL).session(SHELL).intact("100").add();
        machine.observe(resolver, ticks).without(900);
    }

    @Test
    void environOfTheUserInTheSameSessionProvesTheEntry() {
        machine.environment("100", ALICE, SHELL);
        assertThat(machine.process(900, SHELL)
                        .session(SHELL)
                        .intact("100")
                        .add()
                        .decide())
                .isEqualTo(IN_100);
        assertThat(machine.change(900).intact("200").add().decide()).isEqualTo(UNPROVEN);
        assertThat(machine.change(900).intact("100").uid(BOB).add().decide()).isEqualTo(UNPROVEN);
        assertThat(machine.change(900).uid(ALICE).session(900).add().decide()).isEqualTo(UNPROVEN);
    }

    @Test
    void entryOfAnotherUserIsNoProof() {
        machine.environment("100", BOB, SHELL).observeEnvironments(resolver, JOB - 1);
        assertThat(machine.decide(resolver, 5000)).isEqualTo(UNPROVEN);
    }

    @Test
    void disputedEntryIsNoProof() {
        machine.disputed("100", SHELL).observeEnvironments(resolver, JOB - 1);
        assertThat(machine.decide(resolver, 5000)).isEqualTo(UNPROVEN);
    }

    @Test
    void severalEntriesAreNoProof() {
        machine.environment("100", ALICE, SHELL).environment("b", ALICE, SHELL).observeEnvironments(resolver, JOB - 1);
        assertThat(machine.decide(resolver, 5000)).isEqualTo(UNPROVEN);
    }

    @Test
    void nearestListedAncestorDecides() {
        machine.process(200, SHELL).session(SHELL).add();
        machine.process(900, 200).session(SHELL).intact("200").add();
        machine.change(JOB).add(200, JOB);
        machine.environment("100", ALICE, SHELL).environment("200", ALICE, 200);
        assertThat(machine.decide(resolver, 5000).membership()).isEqualTo(new Membership.InEnvironment("200"));
    }

    @Test
    void listedProcessItselfIsInNoEnvironmentOfItsAncestors() {
        machine.change(SHELL).intact("b").add();
        machine.environment("100", ALICE, JOB);
        assertThat(machine.decide().membership())
                .isEqualTo(new Membership.Unknown(
                        "it has overwritten its environ, and nothing proves the entry of envs.json that lists its pid",
                        true));
    }

    /** Its shell still has the id, although the list names it no longer. */
    @Test
    void shellThatWasListedOnceDoesNotShowThatThereIsNone() {
        machine.environment("100", ALICE, SHELL);
        machine.process(950, SHELL).session(SHELL).intact(null).add();
        machine.observeEnvironments(resolver, 50);
        assertThat(machine.noEnvironments().decide(resolver, 5000).membership()).isInstanceOf(Membership.Unknown.class);
    }

    @Test
    void shellThatWasListedADayAgoIsForgotten() {
        machine.environment("100", ALICE, SHELL).observeEnvironments(resolver, 50);
        machine.noEnvironments().observeEnvironments(resolver, 60);
        machine.observeEnvironments(resolver, 60 + 24 * 60 * 60 * 100 + 1);
        assertThat(machine.decide(resolver, 10_000_000).membership()).isEqualTo(new Membership.Outside());
    }

    @Test
    void listedJobThatIsRemovedFromTheListIsNotInferredToBeOutside() {
        machine.environment("100", ALICE, JOB).observeEnvironments(resolver, JOB);
        assertUnknown(machine.noEnvironments().decide(resolver, 5000));
    }

    /** The session keeps the pid of its leader in use. */
    @Test
    void leaderThatHasExitedAndWasListedOnceDoesNotShowThatThereIsNone() {
        var scope = "/user.slice/user-1003.slice/session-3.scope";
        machine.change(JOB).cgroup(scope).add();
        machine.process(900, 1).cgroup(scope).intact(null).add();
        machine.without(SHELL);
        assertThat(machine.decide().by()).isEqualTo(MembershipSource.CGROUP);
        machine.environment("100", ALICE, SHELL).observeEnvironments(resolver, 4000);
        assertUnknown(machine.noEnvironments().decide(resolver, 5000));
    }

    /** Users choose how many pids were listed. */
    @Test
    void tooManyFormerListingsMakeEveryOlderProcessAFormerOne() {
        observeTooManyListings();
        assertUnknown(machine.decide(resolver, 5001));
    }

    /** Otherwise a user could make the service forget the shell of another user. */
    @Test
    void formerListingThatIsListedAgainGivesNoRoomToForgottenOnes() {
        observeTooManyListings();
        machine.environment("b", BOB, 10_000, 10_001, 10_002).observeEnvironments(resolver, 5001);
        assertUnknown(machine.noEnvironments().decide(resolver, 5002));
    }

    @Test
    void tooManyFormerListingsSayNothingAboutLaterProcesses() {
        observeTooManyListings();
        machine.change(SHELL).add(1, 5001);
        assertThat(machine.change(JOB).add(SHELL, 5002).decide(resolver, 5003).membership())
                .isEqualTo(new Membership.Outside());
    }

    @Test
    void tooManyFormerListingsAreForgottenAfterADay() {
        observeTooManyListings();
        assertThat(machine.decide(resolver, 5001 + 24 * 60 * 60 * 100).membership())
                .isEqualTo(new Membership.Outside());
    }

    private void observeTooManyListings() {
        var pids = IntStream.rangeClosed(0, Listings.MAX_FORMER)
                .mapToObj(number -> 10_000 + number)
                .toArray(Integer[]::new);
        machine.environment("b", BOB, pids).observeEnvironments(resolver, 50);
        machine.noEnvironments().observeEnvironments(resolver, 5000);
    }

    private static void assertUnknown(Decision decision) {
        assertThat(decision.membership()).isInstanceOf(Membership.Unknown.class);
    }

    @Test
    void unknownEnvironmentsLeaveTheMembershipUnknown() {
        machine.change(SHELL).intact("a").add();
        assertThat(machine.environmentsUnknown().decide())
                .isEqualTo(Decision.unknown("it is unknown which environments list its ancestors"));
    }
}
