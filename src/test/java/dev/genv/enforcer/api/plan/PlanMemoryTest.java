package dev.genv.enforcer.api.plan;

import static dev.genv.enforcer.testsupport.builder.GpuProcessBuilder.process;
import static dev.genv.enforcer.testsupport.builder.HostBuilder.host;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.genv.enforcer.api.security.ApiException;
import dev.genv.enforcer.model.Fleet;
import dev.genv.enforcer.testsupport.builder.HostBuilder;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

class PlanMemoryTest {
    private static final HostBuilder HOST = host("a").devices(1).with(process(7).uses(0));

    @Test
    void refusesAFleetAboveItsShareOfTheHeap() {
        var bytes = bytesFor(HOST);
        PlanMemory.check(fleet(HOST), 8 * bytes);
        assertThatThrownBy(() -> PlanMemory.check(fleet(HOST, host("b").with(process(8))), 8 * bytes))
                .isInstanceOf(ApiException.class)
                .hasMessageEndingWith("; send the snapshots of fewer hosts");
    }

    private static long bytesFor(HostBuilder host) {
        return PlanMemory.bytes(fleet(host));
    }

    private static Fleet fleet(HostBuilder... hosts) {
        return new Fleet(Stream.of(hosts).map(HostBuilder::snapshot).toList(), true);
    }
}
