package dev.genv.enforcer.api.plan;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import org.junit.jupiter.api.Test;

class PlanCostTest {

    @Test
    void countsNoStructureInsideStrings() {
        assertThat(cost("\"{[:,]}\\\"{[\\\\\"")).isLessThan(200);
        assertThat(cost("[[[[]]]]")).isGreaterThan(4 * 100);
        assertThat(cost("\"\\\\\"[[[[]]]]")).isGreaterThan(4 * 100);
    }

    @Test
    void doesNotDependOnHowTheTextIsSplit() {
        var text = "{\"a\\\"\": [1, \"{\\\\\", {}], \"\u00e9\": null}".getBytes(StandardCharsets.UTF_8);
        var whole = new PlanCost();
        whole.add(text, text.length);
        var inPieces = new PlanCost();
        for (var each : text) {
            inPieces.add(new byte[] {each}, 1);
        }
        assertThat(inPieces.bytes()).isEqualTo(whole.bytes());
    }

    private static long cost(String json) {
        var bytes = json.getBytes(StandardCharsets.UTF_8);
        var cost = new PlanCost();
        cost.add(Arrays.copyOf(bytes, bytes.length + 10), bytes.length);
        return cost.bytes();
    }
}
