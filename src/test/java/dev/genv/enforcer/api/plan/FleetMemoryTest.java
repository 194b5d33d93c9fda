package dev.genv.enforcer.api.plan;

import static dev.genv.enforcer.testsupport.builder.GpuProcessBuilder.process;
import static dev.genv.enforcer.testsupport.builder.HostBuilder.host;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.genv.enforcer.api.security.ApiException;
import dev.genv.enforcer.testsupport.builder.HostBuilder;
import org.junit.jupiter.api.Test;

class FleetMemoryTest {
    private static final HostBuilder HOST = host("a").devices(1).with(process(7).uses(0));

    @Test
    void refusesAFleetAboveTheLimitInWhichTheLastSnapshotOfAHostCounts() {
        var bytes = bytesFor(HOST);
        var memory = new FleetMemory(0, 8 * bytes, "choose less");
        memory.hold("a", HOST.snapshot());
        memory.hold("a", HOST.snapshot());
        assertThatThrownBy(() -> memory.hold("b", HOST.snapshot()))
                .isInstanceOf(ApiException.class)
                .hasMessageEndingWith("; choose less");
        memory.hold("b", null);
        assertThatThrownBy(() -> new FleetMemory(1, 8 * bytes, "").hold("a", HOST.snapshot()))
                .isInstanceOf(ApiException.class);
    }

    private static long bytesFor(HostBuilder host) {
        var memory = new FleetMemory(0, Long.MAX_VALUE, "");
        memory.hold("a", host.snapshot());
        return memory.bytes();
    }
}
