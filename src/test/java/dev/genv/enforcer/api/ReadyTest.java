package dev.genv.enforcer.api;

import static org.assertj.core.api.Assertions.assertThat;

import dev.genv.enforcer.enforcement.Enforcer;
import dev.genv.enforcer.enforcement.Journal;
import dev.genv.enforcer.enforcement.Pace;
import dev.genv.enforcer.enforcement.Restraint;
import dev.genv.enforcer.enforcement.ServiceMode;
import dev.genv.enforcer.enforcement.Ticker;
import dev.genv.enforcer.model.Problem;
import dev.genv.enforcer.model.Snapshot;
import dev.genv.enforcer.policy.DeviceLimits;
import dev.genv.enforcer.policy.Policy;
import dev.genv.enforcer.testsupport.FakeHost;
import dev.genv.enforcer.testsupport.HostBuilder;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.eclipse.microprofile.health.HealthCheckResponse.Status;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

class ReadyTest {
    private static final Duration LONG = Duration.ofMinutes(1);
    private final FakeHost host = new FakeHost(HostBuilder.host("gpu-1"));
    private final Enforcer enforcer = new Enforcer(
            new Enforcer.Setup(
                    () -> List.of(host),
                    false,
                    new Policy(Map.of(), new DeviceLimits(null, Map.of())),
                    ServiceMode.ENFORCE,
                    true,
                    Restraint.NONE,
                    LONG,
                    LONG),
            new Journal(10),
            Ticker.ofSystem(),
            List.of());
    private final Ready ready = new Ready(enforcer, new Pace(LONG, LONG));

    @AfterEach
    void stop() {
        enforcer.stop();
    }

    @Test
    void isDownWhileARightIsMissingAndSaysWhich() {
        enforcer.runCycle();
        assertThat(ready.call().getStatus()).isEqualTo(Status.UP);

        var why = new Problem("missing_right", "KILL: run with --cap-add KILL");
        host.looksLike(() -> new Snapshot("gpu-1", List.of(), List.of(), List.of(), Set.of(), Set.of(), List.of(why)))
                .lacks("KILL");
        enforcer.runCycle();
        var answer = ready.call();
        assertThat(answer.getStatus()).isEqualTo(Status.DOWN);
        assertThat(answer.getData().orElseThrow())
                .containsEntry("reason", "rights are missing")
                .containsEntry("gpu-1", why.detail());
        assertThat(HostView.of(enforcer.latest().orElseThrow()).getFirst().missingRights())
                .containsExactly("KILL");
    }
}
