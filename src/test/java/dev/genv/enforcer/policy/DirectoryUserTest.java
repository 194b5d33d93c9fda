package dev.genv.enforcer.policy;

import static dev.genv.enforcer.testsupport.builder.EnvBuilder.env;
import static dev.genv.enforcer.testsupport.builder.GpuProcessBuilder.process;
import static dev.genv.enforcer.testsupport.builder.HostBuilder.host;
import static dev.genv.enforcer.testsupport.builder.Plans.detachments;
import static dev.genv.enforcer.testsupport.builder.Plans.enforce;
import static dev.genv.enforcer.testsupport.builder.Plans.enforcingPolicy;
import static dev.genv.enforcer.testsupport.builder.Plans.terminatedPids;
import static org.assertj.core.api.Assertions.assertThat;

import dev.genv.enforcer.policy.RuleConfig.Limits;
import dev.genv.enforcer.testsupport.KnownRules;
import dev.genv.enforcer.testsupport.builder.HostBuilder;
import java.util.Map;
import java.util.Set;
import org.junit.jupiter.api.Test;

/** Users of a directory service whose uids are in the range of subordinate uids of the local account 1000. */
class DirectoryUserTest {
    private static final long USER = 120_000;
    private static final long OTHER_USER = 120_001;

    @Test
    void doesNotAddUpTheMemoryOfTwoUsers() {
        var node = node().with(
                        env("a").user("alice").uid(USER).capacity("1000mi").attached(0))
                .with(
                        process(1).inEnvironment("a").uid(USER).uses(0, "800mi"),
                        process(2).inEnvironment("a").uid(OTHER_USER).uses(0, "900mi"));
        assertThat(enforce(node.fleet(), KnownRules.ENV_MEMORY)).isEqualTo(Plan.EMPTY);
    }

    @Test
    void excessOfAnotherUserTerminatesNoProcessOfTheOwner() {
        var node = node().with(
                        env("a").user("alice").uid(USER).capacity("1000mi").attached(0))
                .with(
                        process(1).inEnvironment("a").uid(USER).uses(0, "800mi"),
                        process(2).inEnvironment("a").uid(OTHER_USER).uses(0, "1100mi"));
        assertThat(terminatedPids(enforce(node.fleet(), KnownRules.ENV_MEMORY))).containsExactly(2);
    }

    @Test
    void ownerIsNoStrangerInTheEnvironment() {
        var node = node().with(env("a").user("alice").uid(USER).livePidsOf(USER).attached(0))
                .with(process(1).inEnvironment("a").uid(USER).uses(0));
        assertThat(enforce(node.fleet(), KnownRules.ENV_OWNER)).isEqualTo(Plan.EMPTY);
    }

    @Test
    void anotherUserIsAStrangerInTheEnvironment() {
        var node = node().with(env("a").user("alice").uid(USER).livePidsOf(USER).attached(0))
                .with(process(1).inEnvironment("a").uid(OTHER_USER).uses(0));
        assertThat(terminatedPids(enforce(node.fleet(), KnownRules.ENV_OWNER))).containsExactly(1);
    }

    @Test
    void processOfTheOwnersUidProvesTheUseOfADevice() {
        var node = node().with(
                        env("a").user("alice").uid(USER).attachedAt("31/12/2026 00:00:00", 0),
                        env("b").user("alice").uid(USER).attachedAt("01/01/2026 00:00:00", 1))
                .with(
                        process(1).inEnvironment("a").uid(USER).uses(0),
                        process(2).inEnvironment("b").uid(OTHER_USER).uses(1));
        var policy = enforcingPolicy(new Limits(1, Map.of()), KnownRules.MAX_DEVICES_PER_USER);
        assertThat(detachments(policy.check(node.fleet(), Set.of()))).containsExactly("here/1 b");
    }

    private static HostBuilder node() {
        return host().devices(2).subordinate(1000, 100_000, 65_536);
    }
}
