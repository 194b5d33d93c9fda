package dev.genv.enforcer.api;

import static org.assertj.core.api.Assertions.assertThat;

import dev.genv.enforcer.api.ServiceResource.StatusView;
import dev.genv.enforcer.enforcement.CycleSchedule;
import dev.genv.enforcer.enforcement.Enforcer;
import dev.genv.enforcer.enforcement.EnforcerFactory;
import dev.genv.enforcer.enforcement.host.Host;
import dev.genv.enforcer.enforcement.record.ViolationRegistry;
import dev.genv.enforcer.testsupport.builder.EnforcerConfigBuilder;
import dev.genv.enforcer.testsupport.builder.HostBuilder;
import dev.genv.enforcer.testsupport.fake.FakeHost;
import dev.genv.enforcer.testsupport.fake.FakeTime;
import dev.genv.enforcer.testsupport.fake.NoStore;
import java.time.Duration;
import java.time.LocalDate;
import java.util.List;
import org.junit.jupiter.api.Test;

class StatusViewTest {
    private static final CycleSchedule SCHEDULE = new CycleSchedule(Duration.ofSeconds(10), Duration.ofMinutes(1));

    private static final LocalDate TODAY = LocalDate.parse("2026-11-20");

    private final FakeTime time = new FakeTime();
    private final FakeHost host = new FakeHost(HostBuilder.host("gpu-1"));
    private boolean areHostsKnown = true;
    private final Enforcer enforcer = EnforcerFactory.create(
            EnforcerConfigBuilder.enforcerConfig(this::hosts).build(),
            NoStore.records(new ViolationRegistry(10)),
            time.ticker(),
            List.of());

    @Test
    void isLateWithoutACycleForThreeIntervals() {
        var start = time.ticker().now();
        time.pass(Duration.ofSeconds(30));
        assertThat(status()).isEqualTo(new StatusView(start, null, 30, false, null, TODAY));
        time.pass(Duration.ofSeconds(1));
        assertThat(status()).isEqualTo(new StatusView(start, null, 31, true, null, TODAY));

        enforcer.runCycle();
        assertThat(status()).isEqualTo(new StatusView(start, time.ticker().now(), 0, false, null, TODAY));
    }

    @Test
    void givesTheErrorOfTheLastCycleUntilOneSucceeds() {
        areHostsKnown = false;
        enforcer.runCycle();
        assertThat(status().error()).isEqualTo("java.lang.IllegalStateException: no list of hosts");
        areHostsKnown = true;
        enforcer.runCycle();
        assertThat(status().error()).isNull();
    }

    private List<Host> hosts() {
        if (!areHostsKnown) {
            throw new IllegalStateException("no list of hosts");
        }
        return List.of(host);
    }

    private StatusView status() {
        return StatusView.of(enforcer, SCHEDULE, TODAY);
    }
}
