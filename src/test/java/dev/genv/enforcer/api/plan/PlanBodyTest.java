package dev.genv.enforcer.api.plan;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.genv.enforcer.api.error.ApiException;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import org.junit.jupiter.api.Test;

class PlanBodyTest {
    private static final long HEAP = 192L << 20;
    private final PlanMemory memory = new PlanMemory(HEAP);

    @Test
    void returnsAllBytesHoweverTheyAreSplit() throws IOException {
        var text = "0123456789".repeat(30_000).getBytes(StandardCharsets.US_ASCII);
        var body = new PlanBody(memory);
        for (int from = 0, size = 1; from < text.length; from += size, size = size % 70_001 * 2 + 1) {
            body.add(Arrays.copyOfRange(text, from, Math.min(text.length, from + size)));
        }
        assertThat(body.open().readAllBytes()).isEqualTo(text);
    }

    @Test
    void refusesABodyAboveTheLimit() {
        var body = new PlanBody(memory);
        var piece = new byte[1 << 20];
        for (var i = 0; i < 6; i++) {
            body.add(piece);
        }
        assertThatThrownBy(() -> body.add(new byte[1])).hasMessage("the body is larger than 6291456 bytes");
    }

    @Test
    void limitsTheMemoryOfAllBodiesTogether() {
        var bodies = new ArrayList<PlanBody>();
        for (var i = 0; i < 12_288; i++) { // each byte takes a block of one kibibyte
            var body = new PlanBody(memory);
            body.add(new byte[1]);
            bodies.add(body);
        }
        assertThatThrownBy(() -> new PlanBody(memory).add(new byte[1]))
                .isInstanceOfSatisfying(
                        ApiException.class, e -> assertThat(e.status()).isEqualTo(503));
        bodies.forEach(PlanBody::close);
        new PlanBody(memory).add(new byte[1 << 20]);
    }

    @Test
    void refusesACostlyBodyWhileItArrives() {
        var body = new PlanBody(memory);
        var arrays = "[],".repeat(1000).getBytes(StandardCharsets.US_ASCII);
        assertThatThrownBy(() -> {
                    for (var i = 0; i < 1000; i++) {
                        body.add(arrays);
                    }
                })
                .hasMessageMatching(
                        "the plan would need an estimated [0-9]{8} bytes of memory, and the limit is 37748736; .*");
    }

    @Test
    void keepsItsMemoryUntilThePlanIsComputed() {
        var body = costlyBody();
        body.reserve();
        body.retain();
        body.close(); // the client closed the connection
        assertThatThrownBy(() -> costlyBody().reserve()).hasMessageContaining("other plans");
        body.close(); // the plan is complete
        costlyBody().reserve();
        assertThatThrownBy(body::retain).hasMessage("the client has disconnected");
    }

    private PlanBody costlyBody() {
        var body = new PlanBody(memory);
        body.add("[],".repeat(50_000).getBytes(StandardCharsets.US_ASCII));
        return body;
    }
}
