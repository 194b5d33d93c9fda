package dev.genv.enforcer.enforcement;

import static org.assertj.core.api.Assertions.assertThat;

import dev.genv.enforcer.policy.RuleName;
import org.junit.jupiter.api.Test;

/** An environment that vanishes from the state counts for a while, unless it is another one. */
class EnvironmentGraceTest extends GraceFixture {
    @Test
    void anEnvironmentThatVanishedIsMissedForAWhile() {
        shows(at(0), at(a().attached(0), inA().uses(0)));
        shows(at(10), at(inA().uses(0)));
        cycles(69);
        assertThat(node.performed).isEmpty();
        assertThat(onlyEntry().change()).isNotNull();

        cycles(70);
        assertThat(node.performed).hasSize(1);
    }

    @Test
    void oneThatWasNeverThereIsNotMissed() {
        shows(at(0), at(inA().uses(0)));

        assertThat(node.performed).hasSize(1);
        assertThat(onlyEntry().change()).isNull();
    }

    /** To strike it out and write it again without its devices must not be quicker than to take the devices away. */
    @Test
    void itsAttachmentsAreRememberedOverItsAbsence() {
        shows(at(0), at(a().attached(0), inA().uses(0)));
        shows(at(10), at(inA().uses(0)));
        shows(at(20), at(a(), inA().uses(0)));
        cycles(69);
        assertThat(node.performed).isEmpty();

        cycles(70);
        assertThat(node.performed).as("it was shown all the time").hasSize(1);
    }

    /** A small step that harms nobody does not start the clock of the one that does. */
    @Test
    void aHarmlessStepDoesNotCutTheTimeShort() {
        shows(at(0), at(a().capacity("4g").attached(0), inA().uses(0, "2000mi")));
        shows(at(10), at(a().capacity("3999m").attached(0), inA().uses(0, "2000mi")));
        shows(at(65), at(a().capacity("1").attached(0), inA().uses(0, "2000mi")));
        cycles(124);
        assertThat(node.performed).isEmpty();

        cycles(125);
        assertThat(node.performed).hasSize(1);
    }

    @Test
    void aJobThatGrowsLaterHasItsTimeThen() {
        shows(at(0), at(a().capacity("4g").attached(0), inA().uses(0, "500mi")));
        shows(at(10), at(a().capacity("1g").attached(0), inA().uses(0, "500mi")));
        shows(at(200), at(a().capacity("1g").attached(0), inA().uses(0, "2000mi")));
        cycles(259);
        assertThat(node.performed).isEmpty();

        cycles(260);
        assertThat(node.performed).hasSize(1);
    }

    /** Bob's job outlives its shell; somebody writes an environment of his own by that id. */
    @Test
    void anEnvironmentOfOthersThatCameLaterTakesNobodyIn() {
        off.add(RuleName.INACTIVE_ENV_PROCESSES);
        node.at(1_000_000);
        shows(at(0), at(inA().uses(0)));
        shows(
                at(10),
                at(
                        a().uid(1007).livePidsOf(1007).capacity("1").attached(1),
                        inA().uses(0).uses(1)));
        cycles(100, 1000);

        assertThat(node.performed).isEmpty();
        assertThat(outcomes()).contains("skipped_protected");
    }

    /** A pid is used again: the next shell is somebody else's, and the job of the first one has no part in its environment. */
    @Test
    void anotherEnvironmentByTheSameIdTakesNobodyIn() {
        off.add(RuleName.INACTIVE_ENV_PROCESSES);
        shows(at(0), at(a().livePidsOf(1000).attached(0), inA().uses(0)));
        shows(at(10), at(inA().uses(0)));
        shows(at(20), at(a().uid(1007).livePidsOf(1007).attached(1), inA().uses(0)));
        cycles(100, 1000);

        assertThat(node.performed).isEmpty();
    }

    /** Over SSH we outlive the machine: what it said before it was started anew is about others by the same numbers. */
    @Test
    void aMachineThatWasStartedAnewHasNoPast() {
        node.at(1_000_000);
        shows(at(0), at(a().attached(0), inA().uses(0)));
        node.at(500);
        shows(at(10), at(a().attached(1), inA().uses(0)));
        assertThat(onlyEntry().change()).isNull();

        cycles(69);
        assertThat(node.performed)
                .as("nor does anybody know what was changed in it")
                .isEmpty();
        cycles(70);
        assertThat(node.performed).hasSize(1);
    }

    /** It may have been up for longer than before by the time that we see it again, or be another one by the same name. */
    @Test
    void anotherMachineByTheSameNameHasNoPast() {
        node.is("m1");
        shows(at(0), at(a().attached(0), inA().uses(0)));
        node.is("m2");
        shows(at(10), at(a().attached(1), inA().uses(0)));
        assertThat(onlyEntry().change()).isNull();

        cycles(70);
        assertThat(node.performed).hasSize(1);
    }
}
