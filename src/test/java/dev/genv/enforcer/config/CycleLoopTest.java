package dev.genv.enforcer.config;

import static dev.genv.enforcer.testsupport.TestTimeouts.HANG;
import static dev.genv.enforcer.testsupport.builder.HostBuilder.host;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.genv.enforcer.enforcement.CycleReport;
import dev.genv.enforcer.enforcement.CycleSchedule;
import dev.genv.enforcer.enforcement.EnforcerFactory;
import dev.genv.enforcer.enforcement.host.Ticker;
import dev.genv.enforcer.enforcement.record.ViolationRegistry;
import dev.genv.enforcer.testsupport.builder.EnforcerConfigBuilder;
import dev.genv.enforcer.testsupport.fake.FakeHost;
import dev.genv.enforcer.testsupport.fake.NoStore;
import io.quarkus.runtime.ShutdownEvent;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import org.junit.jupiter.api.Test;

class CycleLoopTest {
    private final List<CycleReport> cycles = new CopyOnWriteArrayList<>();

    @Test
    void runsACycleInEachIntervalUntilTheStop() throws InterruptedException {
        var loop = loop(Duration.ofMillis(1));
        var thread = loop.start();
        await().until(() -> cycles.size() > 2);

        loop.stop(new ShutdownEvent());
        assertThat(thread.join(HANG)).isTrue();
    }

    @Test
    void waitsForTheIntervalAfterTheFirstCycleAndTheStopEndsThat() throws InterruptedException {
        var loop = loop(Duration.ofHours(24));
        var thread = loop.start();
        await().until(() -> thread.getState() == Thread.State.TIMED_WAITING && cycles.size() == 1);

        loop.stop(new ShutdownEvent());
        assertThat(thread.join(HANG)).isTrue();
        assertThat(cycles).hasSize(1);
    }

    private CycleLoop loop(Duration interval) {
        var config = EnforcerConfigBuilder.enforcerConfig(new FakeHost(host())).build();
        var enforcer = EnforcerFactory.create(
                config, NoStore.records(new ViolationRegistry(1)), Ticker.ofSystem(), List.of(cycles::add));
        return new CycleLoop(enforcer, new CycleSchedule(interval, Duration.ZERO), () -> 0);
    }
}
