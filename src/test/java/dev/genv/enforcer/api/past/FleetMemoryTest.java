package dev.genv.enforcer.api.past;

import static dev.genv.enforcer.testsupport.builder.GpuProcessBuilder.process;
import static dev.genv.enforcer.testsupport.builder.HostBuilder.host;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.genv.enforcer.api.error.ApiException;
import dev.genv.enforcer.api.past.PastReading.FleetMemory;
import dev.genv.enforcer.recording.RecordedCycle;
import dev.genv.enforcer.testsupport.builder.HostBuilder;
import java.time.Duration;
import java.time.Instant;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;

class FleetMemoryTest {
    private final AtomicLong reserved = new AtomicLong();

    @Test
    void reservesTheFixedPartAtOnce() {
        var _ = new FleetMemory(this::reserve);

        assertThat(reserved.get()).isPositive();
        assertThatThrownBy(() -> new FleetMemory(_ -> false)).isInstanceOf(ApiException.class);
    }

    @Test
    void unlistedProcessesAndSubordinateUidsCount() {
        var listed = bytesFor(host("a").devices(1).with(process(7).uses(0)));

        assertThat(bytesFor(host("a").devices(1).withUnlisted(process(7).uses(0))))
                .isGreaterThanOrEqualTo(listed);
        assertThat(bytesFor(host("a").devices(1).with(process(7).uses(0)).subordinate(1000, 100_000, 65_536)))
                .isGreaterThan(listed);
    }

    private long bytesFor(HostBuilder host) {
        reserved.set(0);
        new FleetMemory(this::reserve)
                .hold(new RecordedCycle(Instant.EPOCH, Duration.ZERO, 1, Set.of("a"), Map.of("a", host.snapshot())));
        return reserved.get();
    }

    private boolean reserve(long bytes) {
        reserved.addAndGet(bytes);
        return true;
    }
}
