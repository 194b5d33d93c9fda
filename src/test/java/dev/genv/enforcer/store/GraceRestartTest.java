package dev.genv.enforcer.store;

import static dev.genv.enforcer.testsupport.builder.EnvBuilder.env;
import static dev.genv.enforcer.testsupport.builder.GpuProcessBuilder.process;
import static dev.genv.enforcer.testsupport.builder.HostBuilder.host;
import static org.assertj.core.api.Assertions.assertThat;

import dev.genv.enforcer.enforcement.host.SafetyLimits;
import dev.genv.enforcer.enforcement.host.ServiceMode;
import dev.genv.enforcer.policy.RuleDefinition.RuleMode;
import dev.genv.enforcer.testsupport.KnownRules;
import dev.genv.enforcer.testsupport.builder.HostBuilder;
import java.io.IOException;
import java.time.Duration;
import java.util.Map;
import org.junit.jupiter.api.Test;

/** Restarts after which grace periods begin again. */
class GraceRestartTest extends StoreFixture {
    private static final HostBuilder STRAY = host().devices(2).with(process(7).uses(0));

    @Test
    void aGraceThatPassedInAuditModeBeginsAgain() throws IOException {
        limits = new SafetyLimits(Duration.ofSeconds(60), null, 0);
        mode = ServiceMode.AUDIT;
        restart();
        node.setSnapshot(STRAY);
        cycles(20);
        mode = ServiceMode.ENFORCE;
        restart();
        cycles(6);
        assertThat(node.executed).isEmpty();
        restart();
        cycles(1);
        assertThat(node.executed)
                .as("the first cycle after a restart adds no time")
                .isEmpty();
        cycles(1);
        assertThat(node.executed).hasSize(1);
    }

    @Test
    void aStateChangeGraceThatPassedInAuditModeBeginsAgain() throws IOException {
        limits = new SafetyLimits(Duration.ofSeconds(60), null, 0);
        rules = Map.of(KnownRules.ENV_DEVICES, RuleMode.AUDIT);
        restart();
        var job = process(7).inEnvironment("a").uses(0);
        node.setSnapshot(host().devices(2).with(env("a").attached(0)).with(job));
        cycles(8);
        node.setSnapshot(host().devices(2).with(env("a")).with(job));
        cycles(20);
        rules = Map.of(KnownRules.ENV_DEVICES, RuleMode.ENFORCE);
        restart();
        cycles(6);
        assertThat(node.executed).isEmpty();
        cycles(2);
        assertThat(node.executed).hasSize(1);
    }

    @Test
    void aGraceIsNotContinuedAfterALongStop() throws IOException {
        limits = new SafetyLimits(Duration.ofSeconds(60), null, 0);
        restart();
        node.setSnapshot(STRAY);
        cycles(6); // 50 s
        stop();
        time.pass(Duration.ofMinutes(61));
        start();
        cycles(6);
        assertThat(node.executed).isEmpty();
        stop();
        time.pass(Duration.ofMinutes(59));
        start();
        cycles(2);
        assertThat(node.executed).hasSize(1);
    }

    @Test
    void aGraceIsNotContinuedIfTheWallClockWasSetBack() throws IOException {
        limits = new SafetyLimits(Duration.ofSeconds(60), null, 0);
        restart();
        node.setSnapshot(STRAY);
        cycles(6);
        stop();
        time.setWallBack(Duration.ofMinutes(1));
        start();
        cycles(6);
        assertThat(node.executed).isEmpty();
        cycles(1);
        assertThat(node.executed).hasSize(1);
    }

    private void cycles(int count) {
        for (var cycle = 0; cycle < count; cycle++) {
            cycle();
        }
    }
}
