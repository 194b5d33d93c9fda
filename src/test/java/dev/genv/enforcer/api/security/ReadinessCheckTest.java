package dev.genv.enforcer.api.security;

import static org.assertj.core.api.Assertions.assertThat;

import dev.genv.enforcer.api.view.HostView;
import dev.genv.enforcer.enforcement.CycleSchedule;
import dev.genv.enforcer.enforcement.Enforcer;
import dev.genv.enforcer.enforcement.EnforcerFactory;
import dev.genv.enforcer.enforcement.GpuLossDetector;
import dev.genv.enforcer.enforcement.host.Outcome;
import dev.genv.enforcer.enforcement.host.Result;
import dev.genv.enforcer.enforcement.host.Ticker;
import dev.genv.enforcer.enforcement.host.UnreachableException;
import dev.genv.enforcer.enforcement.record.ViolationRegistry;
import dev.genv.enforcer.model.Problem;
import dev.genv.enforcer.model.ProblemCode;
import dev.genv.enforcer.model.Snapshot;
import dev.genv.enforcer.policy.RuleConfig.Limits;
import dev.genv.enforcer.policy.RuleDefinition.RuleMode;
import dev.genv.enforcer.testsupport.KnownRules;
import dev.genv.enforcer.testsupport.builder.EnforcerConfigBuilder;
import dev.genv.enforcer.testsupport.builder.GpuProcessBuilder;
import dev.genv.enforcer.testsupport.builder.HostBuilder;
import dev.genv.enforcer.testsupport.fake.FakeHost;
import dev.genv.enforcer.testsupport.fake.NoStore;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import org.eclipse.microprofile.health.HealthCheck;
import org.eclipse.microprofile.health.HealthCheckResponse.Status;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

class ReadinessCheckTest {
    private static final Duration LONG_TIMEOUT = Duration.ofMinutes(1);
    private static final ApiToken NO_TOKEN = new ApiToken(Optional.empty());
    private final FakeHost host = new FakeHost(HostBuilder.host("gpu-1"));
    private final FakeHost other = new FakeHost(HostBuilder.host("gpu-2"));
    private final Enforcer enforcer = enforcer(false, host);
    private final Enforcer fleet = enforcer(true, host, other);
    private final HealthCheck ready = readiness(enforcer);

    private static Enforcer enforcer(boolean remote, FakeHost... hosts) {
        var config = EnforcerConfigBuilder.enforcerConfig(hosts).remote(remote).build();
        return EnforcerFactory.create(config, NoStore.records(new ViolationRegistry(10)), Ticker.ofSystem(), List.of());
    }

    private static HealthCheck readiness(Enforcer enforcer) {
        var schedule = new CycleSchedule(LONG_TIMEOUT, LONG_TIMEOUT);
        return new HealthChecks(enforcer, schedule, new GpuLossDetector(), NO_TOKEN).readiness();
    }

    @AfterEach
    void stop() {
        enforcer.stop();
        fleet.stop();
    }

    @Test
    void isUpWhenOneMachineIsObservedAndNamesTheOthers() {
        var ofFleet = readiness(fleet);
        host.observeWith(() -> {
            throw new UnreachableException(ProblemCode.HOST_UNREACHABLE, "refused");
        });
        fleet.runCycle();
        assertThat(ofFleet.call().getStatus()).isEqualTo(Status.UP);
        assertThat(ofFleet.call().getData().orElseThrow()).containsEntry("gpu-1", "refused");

        other.setMissingPrivileges("KILL");
        fleet.runCycle();
        assertThat(ofFleet.call().getStatus()).isEqualTo(Status.DOWN);
    }

    @Test
    void isDownWhileAPrivilegeIsMissingAndNamesIt() {
        enforcer.runCycle();
        assertThat(ready.call().getStatus()).isEqualTo(Status.UP);

        var why = new Problem(ProblemCode.MISSING_PRIVILEGE, "KILL: run with --cap-add KILL");
        host.observeWith(() -> new Snapshot("gpu-1", List.of(), List.of(), List.of(), Set.of(), Set.of(), List.of(why)))
                .setMissingPrivileges("KILL");
        enforcer.runCycle();
        var answer = ready.call();
        assertThat(answer.getStatus()).isEqualTo(Status.DOWN);
        assertThat(answer.getData().orElseThrow())
                .containsEntry("reason", "privileges are missing")
                .containsEntry("gpu-1", why.detail());
        assertThat(HostView.of(enforcer.latest().orElseThrow()).getFirst().missingPrivileges())
                .containsExactly("KILL");
    }

    @Test
    void readinessAndHostsAgreeOnAPrivilegeThatOnlyADeniedSignalShows() {
        var config = EnforcerConfigBuilder.enforcerConfig(host)
                .rules(Map.of(KnownRules.NON_ENV_PROCESSES, RuleMode.ENFORCE), Limits.NONE)
                .build();
        var enforcing = EnforcerFactory.create(
                config, NoStore.records(new ViolationRegistry(10)), Ticker.ofSystem(), List.of());
        host.setSnapshot(HostBuilder.host("gpu-1")
                        .devices(1)
                        .with(GpuProcessBuilder.process(1).uses(0)))
                .answerWith(action -> new Result(Outcome.DENIED, "needs the capability CAP_KILL"));
        enforcing.runCycle();
        assertThat(readiness(enforcing).call().getStatus()).isEqualTo(Status.DOWN);
        assertThat(HostView.of(enforcing.latest().orElseThrow()).getFirst().missingPrivileges())
                .containsExactly("KILL");
        enforcing.stop();
    }
}
