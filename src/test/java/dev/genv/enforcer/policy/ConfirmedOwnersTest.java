package dev.genv.enforcer.policy;

import static dev.genv.enforcer.testsupport.builder.EnvBuilder.env;
import static dev.genv.enforcer.testsupport.builder.GpuProcessBuilder.process;
import static dev.genv.enforcer.testsupport.builder.HostBuilder.host;
import static dev.genv.enforcer.testsupport.builder.HostBuilder.remote;
import static dev.genv.enforcer.testsupport.builder.Plans.detachments;
import static dev.genv.enforcer.testsupport.builder.Plans.enforcingPolicy;
import static org.assertj.core.api.Assertions.assertThat;

import dev.genv.enforcer.model.Fleet;
import dev.genv.enforcer.model.Fleet.Appearances;
import dev.genv.enforcer.model.ProblemCode;
import dev.genv.enforcer.policy.RuleConfig.Limits;
import dev.genv.enforcer.testsupport.KnownRules;
import dev.genv.enforcer.testsupport.builder.EnvBuilder;
import dev.genv.enforcer.testsupport.builder.HostBuilder;
import java.util.Map;
import java.util.Set;
import org.junit.jupiter.api.Test;

/** Host a runs alice's container. On host b, another user may have written her name and their own uid. */
class ConfirmedOwnersTest {
    private static final long ALICE = 1001;
    private static final long OTHER_USER = 1002;
    private static final Appearances NEW_ON_B = new Appearances(Map.of(new Appearances.Key("b", "b", 0), 1L), false);

    @Test
    void newDeviceOfAnotherUidIsDetachedFirst() {
        var fleet = remote(container(env("a").uid(ALICE).account()), job(OTHER_USER, env("b")));
        assertThat(detachments(check(fleet.with(NEW_ON_B)))).containsExactly("b/0 b");
    }

    @Test
    void newDeviceOfAnotherUidIsDetachedFirstIfNoHostKnowsTheUser() {
        var fleet = remote(container(env("a").uid(ALICE)), job(OTHER_USER, env("b")));
        assertThat(detachments(check(fleet.with(NEW_ON_B)))).containsExactly("b/0 b");
    }

    @Test
    void deviceOfAnotherUidIsUnprovenIfItsAgeIsUnknown() {
        var fleet = remote(container(env("a").uid(ALICE).account()), job(OTHER_USER, env("b")));
        var plan = check(fleet.with(new Appearances(Map.of(), false)));
        assertThat(plan.actions()).isEmpty();
        assertThat(plan.problems())
                .extracting(problem -> problem.problem().code())
                .containsExactly(ProblemCode.QUOTA_UNDECIDED);
    }

    @Test
    void uidOfAnAccountProvesTheUse() {
        var fleet = remote(container(env("a").uid(ALICE)), job(OTHER_USER, env("b").account()));
        assertThat(detachments(check(fleet.with(NEW_ON_B)))).containsExactly("a/0 a");
    }

    @Test
    void uidThatAllHostsRecordProvesTheUse() {
        var fleet = remote(container(env("a").uid(ALICE)), job(ALICE, env("b")));
        assertThat(detachments(check(fleet.with(NEW_ON_B)))).containsExactly("a/0 a");
    }

    @Test
    void environmentWithADisputedOwnerContradictsNothing() {
        var disputed = host("c").with(env("c").user("alice").uid(OTHER_USER).disputed("forged"));
        var fleet = remote(container(env("a").uid(ALICE)), job(ALICE, env("b")), disputed);
        assertThat(detachments(check(fleet.with(NEW_ON_B)))).containsExactly("a/0 a");
    }

    @Test
    void uidProvesTheUseOfAnEnvironmentWithoutUserName() {
        var named = env("a").user("1002").uid(ALICE).attached(0);
        var unnamed = env("b").withoutUsername().uid(OTHER_USER).attached(0);
        var fleet = remote(
                host("a")
                        .devices(1)
                        .with(named)
                        .with(process(1).inEnvironment("a").uid(ALICE).uses(0)),
                host("b")
                        .devices(1)
                        .with(unnamed)
                        .with(process(2).inEnvironment("b").uid(OTHER_USER).uses(0)));
        assertThat(detachments(check(fleet.with(new Appearances(Map.of(), false)))))
                .containsExactly("a/0 a");
    }

    private static HostBuilder container(EnvBuilder environment) {
        return host("a")
                .devices(1)
                .with(environment.user("alice").attached(0))
                .with(process(1).inEnvironment("a").uid(0).uses(0));
    }

    private static HostBuilder job(long uid, EnvBuilder environment) {
        return host("b")
                .devices(1)
                .with(environment.user("alice").uid(uid).attached(0))
                .with(process(2).inEnvironment("b").uid(uid).uses(0));
    }

    private static Plan check(Fleet fleet) {
        return enforcingPolicy(new Limits(1, Map.of()), KnownRules.MAX_DEVICES_PER_USER)
                .check(fleet, Set.of());
    }
}
