package dev.genv.enforcer.config;

import static dev.genv.enforcer.testsupport.builder.HostBuilder.host;
import static org.assertj.core.api.Assertions.assertThat;

import dev.genv.enforcer.enforcement.CycleReport;
import dev.genv.enforcer.enforcement.CycleSchedule;
import dev.genv.enforcer.enforcement.EnforcerFactory;
import dev.genv.enforcer.enforcement.report.ViolationRegistry;
import dev.genv.enforcer.testsupport.builder.EnforcerConfigBuilder;
import dev.genv.enforcer.testsupport.fake.FakeHost;
import dev.genv.enforcer.testsupport.fake.FakeTime;
import dev.genv.enforcer.testsupport.fake.NoStore;
import io.quarkus.runtime.ShutdownEvent;
import io.quarkus.scheduler.Scheduler;
import io.quarkus.test.junit.QuarkusTest;
import jakarta.inject.Inject;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** The loop measures the intervals too, because the scheduler uses the time of day, which can be set back. */
@QuarkusTest
@Tag("quarkus")
class CycleLoopTest {
    private final FakeTime time = new FakeTime();
    private final List<CycleReport> cycles = new ArrayList<>();

    @Inject
    Scheduler scheduler;

    @Test
    void watchdogStartsAnOverdueCycle() {
        var loop = loop(Duration.ofSeconds(1), Duration.ofSeconds(1), 0);

        time.pass(Duration.ofMillis(3200));
        loop.runIfOverdue();
        assertThat(cycles)
                .as("so late a scheduler and the random delay together may be")
                .isEmpty();

        time.pass(Duration.ofMillis(1));
        loop.runIfOverdue();
        assertThat(cycles).hasSize(1);

        loop.runIfOverdue();
        assertThat(cycles).as("one is enough").hasSize(1);
    }

    @Test
    void runsADueCycleAfterItsDelay() {
        var loop = loop(Duration.ofSeconds(1), Duration.ZERO, Long.MAX_VALUE);

        loop.runDelayed();

        assertThat(cycles).hasSize(1);
    }

    @Test
    void delayedCycleDoesNotStartAfterShutdown() throws InterruptedException {
        var loop = loop(Duration.ofHours(24), Duration.ZERO, Long.MAX_VALUE);
        var delayed = Thread.ofVirtual().start(loop::runDelayed);

        loop.stop(new ShutdownEvent());

        assertThat(delayed.join(Duration.ofSeconds(60))).isTrue();
        assertThat(cycles).isEmpty();
    }

    private CycleLoop loop(Duration interval, Duration longest, long random) {
        var config = EnforcerConfigBuilder.enforcerConfig(new FakeHost(host())).build();
        var enforcer = EnforcerFactory.create(
                config, NoStore.records(new ViolationRegistry(1)), time.ticker(), List.of(cycles::add));
        return new CycleLoop(enforcer, new CycleSchedule(interval, longest), scheduler, () -> random);
    }
}
