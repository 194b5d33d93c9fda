package dev.genv.enforcer.enforcement;

import static dev.genv.enforcer.testsupport.builder.EnvBuilder.env;
import static dev.genv.enforcer.testsupport.builder.HostBuilder.host;
import static org.assertj.core.api.Assertions.assertThat;

import dev.genv.enforcer.model.Fleet.Appearances;
import dev.genv.enforcer.model.GpuProcess;
import dev.genv.enforcer.model.Membership;
import dev.genv.enforcer.model.ProcessId;
import dev.genv.enforcer.model.Snapshot.HostDetails;
import dev.genv.enforcer.model.SnapshotPart;
import dev.genv.enforcer.testsupport.builder.EnvBuilder;
import dev.genv.enforcer.testsupport.builder.HostBuilder;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/** Since when genv's state says something. Each observation is at a number of clock ticks. */
class ClaimsTest {
    private Claims claims = Claims.EMPTY;
    private @Nullable Long last;

    @Test
    void partThatCannotBeReadChangesNothing() {
        observe(100, host().devices(1).with(env("a").attached(0)));
        observe(200, host().devices(1).missing(SnapshotPart.ENVIRONMENTS));
        observe(300, host().devices(1).with(env("a").attached(0)));
        assertThat(isShielded(env("a"), 50)).isFalse();
        assertThat(claims.appearances(
                        host().devices(1).with(env("a").attached(0)).snapshot()))
                .isEmpty();
    }

    @Test
    void ownerIsAClaimOfItsOwn() {
        observe(100, host().devices(1).with(env("a").uid(1003)));
        observe(200, host().devices(1).with(env("a").uid(1004)));
        var environment = env("a").uid(1004).build();
        assertThat(claims.shieldsFromOwner(startedAt(99), environment, true)).isTrue();
        assertThat(claims.shieldsFromOwner(startedAt(100), environment, true))
                .as("it may have been started under this owner")
                .isFalse();
    }

    @Test
    void longIdsAreDifferentClaims() {
        var one = "x".repeat(300) + "1";
        var other = "x".repeat(300) + "2";
        observe(100, host().devices(1).with(env(one)));
        observe(200, host().devices(1).with(env(one), env(other)));
        assertThat(isShielded(env(one), 50)).isFalse();
        assertThat(isShielded(env(other), 50)).isTrue();
    }

    @Test
    void userHoldsADeviceSinceTheLastAbsence() {
        var one = env("a").user("alice").attached(0);
        observe(100, host().devices(2).with(one));
        observe(200, host().devices(2).with(one, env("b").user("alice").attached(1)));
        assertThat(held(host().devices(2).with(one, env("b").user("alice").attached(1))))
                .isEqualTo(Map.of(new Appearances.Key("here", "b", 1), 200L));
        observe(
                300,
                host().devices(2).with(env("a").user("alice").disputed("it is").attached(0)));
        observe(400, host().devices(2).with(one));
        assertThat(held(host().devices(2).with(one)))
                .as("after a dispute it counts anew")
                .isEqualTo(Map.of(new Appearances.Key("here", "a", 0), 400L));
    }

    private Map<Appearances.Key, Long> held(HostBuilder host) {
        return claims.appearances(host.snapshot());
    }

    private void observe(long ticks, HostBuilder host) {
        claims = claims.next(host.snapshot().with(HostDetails.reached(null, ticks)), last, ticks);
        last = host.snapshot().has(SnapshotPart.ENVIRONMENTS) ? Long.valueOf(ticks) : last;
    }

    private static GpuProcess startedAt(long ticks) {
        return new GpuProcess(new ProcessId(1, ticks), 1000L, "python", new Membership.Outside(), List.of());
    }

    private boolean isShielded(EnvBuilder environment, long start) {
        return claims.shieldsFromEnvironment(startedAt(start), environment.build(), false);
    }
}
