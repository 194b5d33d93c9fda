package dev.genv.enforcer.observation;

import static org.assertj.core.api.Assertions.assertThat;

import dev.genv.enforcer.model.ProblemCode;
import dev.genv.enforcer.observation.GpuListing.DeviceOrder;
import java.util.Map;
import org.junit.jupiter.api.Test;

class DeviceOrderTest {
    private final DeviceOrder order = new DeviceOrder();

    @Test
    void deviceIsLostWhileItIsNoLongerListed() {
        assertThat(order.findLost(Map.of("a", 0, "b", 1))).isEmpty();
        for (var i = 0; i < 2; i++) {
            assertThat(order.findLost(Map.of("a", 0))).hasValueSatisfying(problem -> {
                assertThat(problem.code()).isEqualTo(ProblemCode.GPU_LOST);
                assertThat(problem.detail()).contains("1 GPU(s)", "(1: b)");
            });
        }
        assertThat(order.findLost(Map.of("a", 0, "b", 1, "c", 2))).isEmpty();
    }

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
