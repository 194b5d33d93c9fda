package dev.genv.enforcer.observation;

import static org.assertj.core.api.Assertions.assertThat;

import dev.genv.enforcer.model.ProblemCode;
import java.util.Map;
import org.junit.jupiter.api.Test;

class DeviceOrderTest {
    private final DeviceOrder order = new DeviceOrder();

    @Test
    void aDeviceThatWasListedBeforeIsLostAsLongAsItIsNotListed() {
        assertThat(order.lost(Map.of("a", 0, "b", 1))).isEmpty();
        for (var i = 0; i < 2; i++) {
            assertThat(order.lost(Map.of("a", 0))).hasValueSatisfying(problem -> {
                assertThat(problem.code()).isEqualTo(ProblemCode.GPU_LOST);
                assertThat(problem.detail()).contains("1 GPU(s)", "(1: b)");
            });
        }
        assertThat(order.lost(Map.of("a", 0, "b", 1, "c", 2))).isEmpty();
    }

    @Test
    void aDeviceThatIsMissingAfterABootIsNotLost() {
        order.boot("one");
        order.lost(Map.of("a", 0, "b", 1));
        order.boot("one");
        assertThat(order.lost(Map.of("a", 0))).isPresent();
        order.boot("two");
        assertThat(order.lost(Map.of("a", 0))).isEmpty();
    }
}
