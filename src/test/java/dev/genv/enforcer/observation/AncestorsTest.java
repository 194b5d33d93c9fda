package dev.genv.enforcer.observation;

import static dev.genv.enforcer.observation.Relatives.ALICE;
import static dev.genv.enforcer.observation.Relatives.BOB;
import static dev.genv.enforcer.observation.Relatives.JOB;
import static dev.genv.enforcer.observation.Relatives.SHELL;
import static org.assertj.core.api.Assertions.assertThat;

import dev.genv.enforcer.model.Membership;
import dev.genv.enforcer.model.Membership.MembershipSource;
import dev.genv.enforcer.observation.MembershipResolver.Decision;
import org.junit.jupiter.api.Test;

class AncestorsTest {
    private static final Decision IN_A = new Decision(new Membership.InEnvironment("a"), MembershipSource.ANCESTOR);
    private static final Decision OUTSIDE = new Decision(new Membership.Outside(), MembershipSource.ANCESTOR);

    private final Relatives machine = new Relatives();

    @Test
    void nearestIntactAncestorDecides() {
        machine.process(200, SHELL).session(SHELL).intact("a").add();
        machine.process(300, 200).session(SHELL).add();
        assertThat(machine.change(JOB).add(300, JOB).decide()).isEqualTo(IN_A);
    }

    @Test
    void ancestorThatNamesNoEnvironmentShowsThatThereIsNone() {
        assertThat(machine.decide()).isEqualTo(OUTSIDE);
    }

    @Test
    void incompleteRelationsDoNotShowThatThereIsNone() {
        assertUnknown(machine.incomplete());
    }

    @Test
    void relativeThatNamesAnEnvironmentContradictsAnAncestorWithoutOne() {
        assertUnknown(machine.process(500, 1).session(SHELL).intact("a").add());
    }

    @Test
    void ancestorThatCannotBeReadMayNameAnEnvironment() {
        machine.process(200, SHELL).session(SHELL).unavailable().add();
        assertThat(machine.change(JOB).add(200, JOB).decide())
                .isEqualTo(Decision.unknown("the environ of its ancestor 200 cannot be read"));
    }

    @Test
    void relativeThatCannotBeReadMayNameAnEnvironment() {
        assertUnknown(machine.process(500, 1).session(SHELL).unavailable().add());
    }

    /** It may be another user's processes that name one. */
    @Test
    void otherUsersInTheSessionDoNotCount() {
        assertThat(machine.process(500, 1)
                        .session(SHELL)
                        .uid(BOB)
                        .intact("a")
                        .add()
                        .decide())
                .isEqualTo(OUTSIDE);
    }

    /** genv gives the id to running shells, and the shell of this one may have left the environment. */
    @Test
    void userWithAnActiveEnvironmentIsNotInferredToBeOutside() {
        assertUnknown(machine.environment("a", ALICE, 4711));
        assertThat(machine.noEnvironments().environment("b", BOB, 4711).decide())
                .isEqualTo(OUTSIDE);
    }

    @Test
    void chainEndsAtAProcessOfAnotherUser() {
        machine.process(200, 1).session(SHELL).intact("a").add();
        machine.process(300, 200).session(SHELL).uid(BOB).intact("b").add();
        machine.change(SHELL).overwritten().add();
        assertUnknown(machine.change(JOB).session(JOB).add(300, JOB));
    }

    @Test
    void chainEndsAtTheFirstProcess() {
        machine.process(1, 0).intact("a").add();
        assertUnknown(machine.change(JOB).session(JOB).add(1, JOB));
    }

    @Test
    void youngerProcessIsNotTheParent() {
        machine.change(SHELL).intact("a").add(1, JOB + 1);
        assertUnknown(machine.change(JOB).session(JOB).add());
    }

    @Test
    void processThatAdoptedAnOrphanSaysNothing() {
        machine.process(50, 1).intact("a").add(); // such as systemd --user
        machine.change(SHELL).overwritten().add();
        assertUnknown(machine.change(JOB).add(50, JOB));
        assertUnknown(machine.change(JOB).group(JOB).add(50, JOB));
    }

    /** It may have been adopted after it began its session. */
    @Test
    void ancestorInAnotherSessionShowsAnEnvironmentButNotThatThereIsNone() {
        machine.process(50, 1).intact(null).add();
        assertUnknown(machine.change(JOB).session(JOB).add(50, JOB));
        assertThat(machine.change(50).intact("a").add().decide()).isEqualTo(IN_A);
    }

    @Test
    void firstProcessOfAContainerDoesNotShowThatThereIsNone() {
        machine.change(SHELL).container(2, true).session(50).add();
        assertUnknown(machine.change(JOB).container(2, false).session(50).add());
        assertThat(machine.change(SHELL).intact("a").add().decide()).isEqualTo(IN_A);
    }

    @Test
    void chainEndsAtTheBorderOfAContainer() {
        machine.change(SHELL).intact("a").add();
        assertUnknown(machine.change(JOB).container(2, true).session(JOB).add());
    }

    @Test
    void rootOfTheMachineIsManyUsers() {
        machine.change(SHELL).uid(0).intact("a").add();
        assertUnknown(machine.change(JOB).uid(0).add());
    }

    @Test
    void rootOfAContainerIsOneUser() {
        var cgroup = "/system.slice/docker-" + "0a".repeat(32) + ".scope";
        machine.change(SHELL)
                .uid(0)
                .container(2, true)
                .cgroup(cgroup)
                .intact("a")
                .add();
        machine.change(JOB).uid(0).container(2, false).cgroup(cgroup).add();
        assertThat(machine.decide()).isEqualTo(IN_A);
        assertUnknown(machine.change(JOB)
                .cgroup("/system.slice/docker-" + "0b".repeat(32) + ".scope")
                .add());
    }

    private static void assertUnknown(Relatives machine) {
        assertThat(machine.decide().membership()).isInstanceOf(Membership.Unknown.class);
    }
}
