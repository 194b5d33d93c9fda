package dev.genv.enforcer.api.query;

import static dev.genv.enforcer.testsupport.builder.GpuProcessBuilder.process;
import static dev.genv.enforcer.testsupport.builder.HostBuilder.host;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.genv.enforcer.api.security.ApiException;
import dev.genv.enforcer.recording.Picture;
import dev.genv.enforcer.recording.PictureReader.Recorded;
import dev.genv.enforcer.testsupport.builder.HostBuilder;
import java.time.Instant;
import org.junit.jupiter.api.Test;

class FleetMemoryTest {
    @Test
    void refusesAFleetAboveTheLimit() {
        var recorded = recorded(host("a").devices(1).with(process(7).uses(0)));
        assertThatThrownBy(() -> new FleetMemory(4 << 20).hold(recorded)).isInstanceOf(ApiException.class);
        new FleetMemory(5 << 20).hold(recorded);
    }

    @Test
    void unlistedProcessesAndSubordinateUidsCount() {
        var listed = bytesFor(host("a").devices(1).with(process(7).uses(0)));

        assertThat(bytesFor(host("a").devices(1).withUnlisted(process(7).uses(0))))
                .isGreaterThanOrEqualTo(listed);
        assertThat(bytesFor(host("a").devices(1).with(process(7).uses(0)).subordinate(1000, 100_000, 65_536)))
                .isGreaterThan(listed);
    }

    private static long bytesFor(HostBuilder host) {
        var memory = new FleetMemory(Long.MAX_VALUE);
        memory.hold(recorded(host));
        return memory.bytes();
    }

    private static Recorded recorded(HostBuilder host) {
        return new Recorded(Instant.EPOCH, 0, "a", new Picture(host.snapshot(), null, 1));
    }
}
