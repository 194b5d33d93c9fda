package dev.genv.enforcer.enforcement.safeguard.grace;

import static org.assertj.core.api.Assertions.assertThat;

import dev.genv.enforcer.testsupport.KnownRules;
import org.junit.jupiter.api.Test;

/** An environment that vanishes from the state counts for a while, unless it is another one. */
class EnvironmentGraceTest extends GraceFixture {
    @Test
    void vanishedEnvironmentGetsStateChangeGrace() {
        observe(at(0), at(a().attached(0), inA().uses(0)));
        observe(at(10), at(inA().uses(0)));
        runCycles(69);
        assertThat(node.executed).isEmpty();
        assertThat(onlyEntry().change()).isNotNull();

        runCycles(70);
        assertThat(node.executed).hasSize(1);
    }

    @Test
    void environmentThatNeverExistedGetsNoGrace() {
        observe(at(0), at(inA().uses(0)));

        assertThat(node.executed).hasSize(1);
        assertThat(onlyEntry().change()).isNull();
    }

    /** To strike it out and write it again without its devices must not be quicker than to take the devices away. */
    @Test
    void attachmentsAreRememberedWhileTheEnvironmentIsAbsent() {
        observe(at(0), at(a().attached(0), inA().uses(0)));
        observe(at(10), at(inA().uses(0)));
        observe(at(20), at(a(), inA().uses(0)));
        runCycles(69);
        assertThat(node.executed).isEmpty();

        runCycles(70);
        assertThat(node.executed).as("it was shown all the time").hasSize(1);
    }

    /** A reduction without a violation does not start the grace of a later one. */
    @Test
    void harmlessCapacityChangeDoesNotShortenTheGrace() {
        observe(at(0), at(a().capacity("4g").attached(0), inA().uses(0, "2000mi")));
        observe(at(10), at(a().capacity("3999m").attached(0), inA().uses(0, "2000mi")));
        observe(at(65), at(a().capacity("1").attached(0), inA().uses(0, "2000mi")));
        runCycles(124);
        assertThat(node.executed).isEmpty();

        runCycles(125);
        assertThat(node.executed).hasSize(1);
    }

    @Test
    void graceStartsWhenUsageExceedsTheLoweredCapacity() {
        observe(at(0), at(a().capacity("4g").attached(0), inA().uses(0, "500mi")));
        observe(at(10), at(a().capacity("1g").attached(0), inA().uses(0, "500mi")));
        observe(at(200), at(a().capacity("1g").attached(0), inA().uses(0, "2000mi")));
        runCycles(259);
        assertThat(node.executed).isEmpty();

        runCycles(260);
        assertThat(node.executed).hasSize(1);
    }

    /** A job outlives its shell. Another user adds an environment with the same id. */
    @Test
    void processIsProtectedFromLaterEnvironmentOfAnotherUser() {
        off.add(KnownRules.INACTIVE_ENV_PROCESSES);
        node.setTicks(1_000_000);
        observe(at(0), at(inA().uses(0)));
        observe(
                at(10),
                at(
                        a().uid(1007).livePidsOf(1007).capacity("1").attached(1),
                        inA().uses(0).uses(1)));
        runCycles(100, 1000);

        assertThat(node.executed).isEmpty();
        assertThat(outcomes()).contains("skipped_protected");
    }

    /** A pid is used again: the next shell belongs to another user, and the job of the first shell is not in its environment. */
    @Test
    void processIsProtectedFromReusedEnvironmentIdOfAnotherUser() {
        off.add(KnownRules.INACTIVE_ENV_PROCESSES);
        observe(at(0), at(a().livePidsOf(1000).attached(0), inA().uses(0)));
        observe(at(10), at(inA().uses(0)));
        observe(at(20), at(a().uid(1007).livePidsOf(1007).attached(1), inA().uses(0)));
        runCycles(100, 1000);

        assertThat(node.executed).isEmpty();
    }

    /** Over SSH we outlive the machine: what it said before it was started anew is about others by the same numbers. */
    @Test
    void rebootClearsTheHistory() {
        node.setTicks(1_000_000);
        observe(at(0), at(a().attached(0), inA().uses(0)));
        node.setTicks(500);
        observe(at(10), at(a().attached(1), inA().uses(0)));
        assertThat(onlyEntry().change()).isNull();

        runCycles(69);
        assertThat(node.executed)
                .as("nor does anybody know what was changed in it")
                .isEmpty();
        runCycles(70);
        assertThat(node.executed).hasSize(1);
    }

    /** It may have been up for longer than before by the time that we see it again, or be another one by the same name. */
    @Test
    void anotherMachineWithTheSameNameHasNoHistory() {
        node.setMachine("m1");
        observe(at(0), at(a().attached(0), inA().uses(0)));
        node.setMachine("m2");
        observe(at(10), at(a().attached(1), inA().uses(0)));
        assertThat(onlyEntry().change()).isNull();

        runCycles(70);
        assertThat(node.executed).hasSize(1);
    }
}
