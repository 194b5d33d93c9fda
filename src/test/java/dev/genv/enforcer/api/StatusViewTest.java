package dev.genv.enforcer.api;

import static dev.genv.enforcer.testsupport.builder.HostBuilder.host;
import static org.assertj.core.api.Assertions.assertThat;

import dev.genv.enforcer.api.ServiceResource.StatusView;
import dev.genv.enforcer.enforcement.CycleSchedule;
import dev.genv.enforcer.enforcement.Enforcer;
import dev.genv.enforcer.enforcement.EnforcerFactory;
import dev.genv.enforcer.enforcement.host.Host;
import dev.genv.enforcer.enforcement.record.ViolationRegistry;
import dev.genv.enforcer.testsupport.builder.EnforcerConfigBuilder;
import dev.genv.enforcer.testsupport.fake.FakeHost;
import dev.genv.enforcer.testsupport.fake.FakeTime;
import dev.genv.enforcer.testsupport.fake.NoStore;
import java.time.Duration;
import java.time.Instant;
import java.time.LocalDate;
import java.util.List;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

class StatusViewTest {
    private static final CycleSchedule SCHEDULE = new CycleSchedule(Duration.ofSeconds(10), Duration.ofMinutes(1));
    private static final LocalDate TODAY = LocalDate.parse("2026-11-20");

    private final FakeTime time = new FakeTime();
    private Supplier<List<Host>> hosts = () -> List.of(new FakeHost(host("gpu-1")).observeWith(() -> {
        time.pass(Duration.ofSeconds(2));
        return host("gpu-1").snapshot();
    }));
    private final Enforcer enforcer = EnforcerFactory.create(
            EnforcerConfigBuilder.enforcerConfig(() -> hosts.get()).build(),
            NoStore.records(new ViolationRegistry(10)),
            time.ticker(),
            List.of());

    @Test
    void isLateWithoutACycleForThreeIntervals() {
        time.pass(Duration.ofSeconds(30));
        assertStatus(null, 30, false);
        time.pass(Duration.ofSeconds(1));
        assertStatus(null, 31, true);

        enforcer.runCycle();
        assertStatus(FakeTime.START.plusSeconds(33), 0, false);
    }

    private void assertStatus(@Nullable Instant lastCycleAt, double secondsSince, boolean late) {
        assertThat(status()).isEqualTo(new StatusView(FakeTime.START, lastCycleAt, secondsSince, late, null, TODAY));
    }

    @Test
    void givesTheErrorOfTheLastCycleUntilOneSucceeds() {
        var known = hosts;
        hosts = () -> {
            throw new IllegalStateException("no list of hosts");
        };
        enforcer.runCycle();
        assertThat(status().error()).isEqualTo("java.lang.IllegalStateException: no list of hosts");
        hosts = known;
        enforcer.runCycle();
        assertThat(status().error()).isNull();
    }

    private StatusView status() {
        return StatusView.of(enforcer, SCHEDULE, TODAY);
    }
}
