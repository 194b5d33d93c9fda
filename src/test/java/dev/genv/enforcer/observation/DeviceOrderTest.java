package dev.genv.enforcer.observation;

import static org.assertj.core.api.Assertions.assertThat;

import dev.genv.enforcer.observation.GpuListing.DeviceOrder;
import java.util.Map;
import org.junit.jupiter.api.Test;

class DeviceOrderTest {
    private final DeviceOrder order = new DeviceOrder();

    @Test
    void deviceMissingAfterARebootIsNotLost() {
        order.recordBoot("one");
        order.findLost(Map.of("a", 0, "b", 1));
        order.recordBoot("one");
        assertThat(order.findLost(Map.of("a", 0))).isPresent();
        order.recordBoot("two");
        assertThat(order.findLost(Map.of("a", 0))).isEmpty();
    }
}
