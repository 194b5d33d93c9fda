package dev.genv.enforcer.api.plan;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.genv.enforcer.api.plan.RequestLimits.PlanBody;
import dev.genv.enforcer.api.security.ApiException;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import org.junit.jupiter.api.Test;

class PlanBodyTest {
    private static final long HEAP = 192L << 20;
    private final RequestLimits limits = new RequestLimits(HEAP);

    @Test
    void returnsAllBytesHoweverTheyAreSplit() throws IOException {
        var text = "0123456789".repeat(30_000).getBytes(StandardCharsets.US_ASCII);
        var body = limits.new PlanBody();
        for (int from = 0, size = 1; from < text.length; from += size, size = size % 70_001 * 2 + 1) {
            body.add(Arrays.copyOfRange(text, from, Math.min(text.length, from + size)));
        }
        assertThat(body.open().readAllBytes()).isEqualTo(text);
    }

    @Test
    void refusesABodyAboveTheLimit() {
        var body = limits.new PlanBody();
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
            var body = limits.new PlanBody();
            body.add(new byte[1]);
            bodies.add(body);
        }
        assertThatThrownBy(() -> limits.new PlanBody().add(new byte[1]))
                .isInstanceOfSatisfying(
                        ApiException.class, e -> assertThat(e.status()).isEqualTo(503));
        bodies.forEach(PlanBody::close);
        limits.new PlanBody().add(new byte[1 << 20]);
    }

    @Test
    void keepsItsMemoryUntilThePlanIsComputed() {
        var body = limits.new PlanBody();
        body.add(new byte[1]);
        var all = limits.memory.availablePermits();
        body.retain();
        body.close(); // the client closed the connection
        assertThat(limits.memory.availablePermits()).isEqualTo(all);
        body.close(); // the plan is complete
        assertThat(limits.memory.availablePermits()).isEqualTo(all + 1);
        assertThatThrownBy(body::retain).hasMessage("the client has disconnected");
    }
}
