package dev.genv.enforcer.config;

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
    private static final Duration LONG = Duration.ofSeconds(60);

    private final List<CycleReport> cycles = new CopyOnWriteArrayList<>();

    @Test
    void runsCyclesUntilItIsStopped() throws InterruptedException {
        var loop = loop(Duration.ofMillis(20));
        var thread = loop.start();
        await().until(() -> cycles.size() >= 3);

        loop.stop(new ShutdownEvent());

        assertThat(thread.join(LONG)).isTrue();
    }

    @Test
    void shutdownEndsTheWaitForTheNextCycle() throws InterruptedException {
        var loop = loop(Duration.ofHours(24));
        var thread = loop.start();
        await().until(() -> cycles.size() == 1);

        loop.stop(new ShutdownEvent());

        assertThat(thread.join(LONG)).isTrue();
        assertThat(cycles).hasSize(1);
    }

    @Test
    void runsASingleCycleIfTheIntervalIsZero() throws InterruptedException {
        assertThat(loop(Duration.ZERO).start().join(LONG)).isTrue();
        assertThat(cycles).hasSize(1);
    }

    private CycleLoop loop(Duration interval) {
        var enforcer = EnforcerFactory.create(
                EnforcerConfigBuilder.enforcerConfig(new FakeHost(host())).build(),
                NoStore.records(new ViolationRegistry(1)),
                Ticker.ofSystem(),
                List.of(cycles::add));
        return new CycleLoop(enforcer, new CycleSchedule(interval, Duration.ZERO), () -> Long.MAX_VALUE);
    }
}
