package dev.genv.enforcer.enforcement.safeguard.grace;

import static dev.genv.enforcer.testsupport.builder.HostBuilder.host;
import static org.assertj.core.api.Assertions.assertThat;

import dev.genv.enforcer.testsupport.KnownRules;
import org.junit.jupiter.api.Test;

/** Whether a process or its environment was there first, and what is enforced in each case. */
class EnvironmentAgeTest extends GraceFixture {
    /** The owner writes the pid of another user into the entry, so that the owner seems to be a stranger in it. */
    @Test
    void listingPidsOfRootGivesNoProtection() {
        off.add(KnownRules.INACTIVE_ENV_PROCESSES);
        observe(at(0), at(a().livePidsOf(1000).attached(0), inA().uses(0)));
        observe(at(10), at(a().livePidsOf(0).attached(0), inA().uses(0).uses(1)));

        assertThat(node.executed).hasSize(1);
    }

    @Test
    void listingPidsOfRootGivesNoProtectionWithInactiveEnvProcesses() {
        observe(at(0), at(a().livePidsOf(1000).attached(0), inA().uses(0)));
        observe(at(10), at(a().livePidsOf(0).attached(0), inA().uses(0).uses(1)));

        assertThat(node.executed).hasSize(1);
    }

    @Test
    void processThatJoinsEnvironmentOfAnotherUserIsTerminated() {
        node.setTicks(900_000);
        observe(at(0), at(a().uid(1007).livePidsOf(1007).attached(1)));
        node.setTicks(1_000_000);
        observe(at(10), at(a().uid(1007).livePidsOf(1007).attached(1), inA().uses(0)));

        assertThat(node.executed).hasSize(1);
    }

    /** By the same user's hand, or by a pid that is used again. */
    @Test
    void processIsProtectedFromEnvironmentThatAppearedLater() {
        off.add(KnownRules.INACTIVE_ENV_PROCESSES);
        observe(at(0), at(inA().uses(0)));
        observe(at(10), at(a().livePidsOf(1000), inA().uses(0)));
        runCycles(100, 1000);

        assertThat(node.executed).isEmpty();
        assertThat(outcomes()).containsExactly("skipped_protected");
    }

    /** Otherwise a user could avoid the rules: first start a process, then add its environment. */
    @Test
    void aProcessOlderThanItsEnvironmentIsTerminatedAsInactiveAfterTheGrace() {
        observe(at(0), at(a().attached(0), inA().uses(0)));
        observe(at(1), at(inA().uses(0)));
        observe(at(10), at(a().livePidsOf(1000), inA().uses(0)));
        runCycles(60);
        assertThat(node.executed).isEmpty();

        runCycles(61);
        assertThat(node.executed).hasSize(1);
    }

    /** The shell has exited, and the job runs. Another user adds the environment again with the job's own pid. */
    @Test
    void processIsProtectedWhenItsEndedEnvironmentReappears() {
        off.add(KnownRules.INACTIVE_ENV_PROCESSES);
        observe(at(0), at(a().pids(7).livePidsOf(1000).attached(0), inA().uses(0)));
        observe(at(10), at(inA().uses(0)));
        observe(at(20), at(a().pids(1).livePidsOf(1000).capacity("1").attached(1), inA().uses(0)));
        runCycles(100, 1000);

        assertThat(node.executed).isEmpty();
        assertThat(outcomes()).contains("skipped_protected");
    }

    @Test
    void environmentIsNewWhenAllPidsChangeToAnotherUid() {
        off.add(KnownRules.INACTIVE_ENV_PROCESSES);
        observe(at(0), at(a().pids(7).livePidsOf(1000).attached(0), inA().uses(0)));
        observe(at(10), at(a().pids(1).livePidsOf(1001).attached(1), inA().uses(0)));
        runCycles(100, 1000);

        assertThat(node.executed).isEmpty();
    }

    /** Otherwise its user would protect all older processes of the user. What is taken from it with that has the ordinary grace. */
    @Test
    void environmentIsTheSameWhenPidsChangeWithinItsUser() {
        off.add(KnownRules.INACTIVE_ENV_PROCESSES);
        observe(at(0), at(a().pids(7).livePidsOf(1000).attached(0), inA().uses(0)));
        observe(at(10), at(a().pids(8).livePidsOf(1000), inA().uses(0)));
        runCycles(69);
        assertThat(node.executed).isEmpty();

        runCycles(70);
        assertThat(node.executed).hasSize(1);
    }

    /** The kernel knows the shell after which the environment is named: it is older than the process, regardless of the state files. */
    @Test
    void continuousEnvironmentIsAsOldAsItsShell() {
        off.add(KnownRules.INACTIVE_ENV_PROCESSES);
        observe(at(0), at(a().pids(7).shellStartedAt(900_000).attached(0), inA().uses(0)));
        observe(
                at(10),
                at(
                        a().pids(8).shellStartedAt(900_000).attached(0),
                        inA().uses(0).uses(1)));

        assertThat(node.executed).hasSize(1);
    }

    /** The user deactivates it in a shell that stays open, and the job goes on; another user writes it anew. */
    @Test
    void processIsProtectedFromReappearedEnvironmentDespiteOlderShell() {
        off.add(KnownRules.INACTIVE_ENV_PROCESSES);
        observe(at(0), at(a().pids(7).shellStartedAt(900_000).attached(0), inA().uses(0)));
        observe(at(10), at(inA().uses(0)));
        observe(at(20), at(a().pids(7).shellStartedAt(900_000), inA().uses(0)));
        runCycles(100, 1000);

        assertThat(node.executed).isEmpty();
        assertThat(outcomes()).contains("skipped_protected");
    }

    @Test
    void processIsProtectedFromNewEnvironmentDespiteOlderShell() {
        off.add(KnownRules.INACTIVE_ENV_PROCESSES);
        observe(at(0), at(inA().uses(0)));
        observe(at(10), at(a().pids(7).shellStartedAt(900_000), inA().uses(0)));
        runCycles(100, 1000);

        assertThat(node.executed).isEmpty();
        assertThat(outcomes()).containsExactly("skipped_protected");
    }

    /** A job that is started after it was written anew names an environment that is there. */
    @Test
    void processStartedAfterTheEnvironmentReappearedIsTerminated() {
        off.add(KnownRules.INACTIVE_ENV_PROCESSES);
        observe(at(0), at(a().pids(7).shellStartedAt(900_000).attached(0)));
        node.setTicks(1_001_000);
        observe(at(10), host().devices(2));
        node.setTicks(1_002_000);
        observe(at(20), at(a().pids(7).shellStartedAt(900_000).attached(0)));
        observe(
                at(30),
                at(
                        a().pids(7).shellStartedAt(900_000).attached(0),
                        inA().startedLaterBy(20_000).uses(1)));

        assertThat(node.executed).hasSize(1);
    }
}
