package dev.genv.enforcer.remote.ssh;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;

class TransportTest {
    private final Transport transport = new Transport(2);

    @Test
    void acceptsTheAllowanceOfEachHop() throws Exception {
        receive(2 * Transport.ALLOWANCE);

        assertThat(transport.isExceeded()).isFalse();
        assertThatThrownBy(() -> receive(1)).isInstanceOf(IOException.class).hasMessageContaining("too much data");
        assertThat(transport.isExceeded()).isTrue();
        assertThat(transport.isClosed()).isTrue();
    }

    @Test
    void acceptsWhatIsExpectedOnceAndForgetsTheRest() throws Exception {
        transport.expect(1_000_000);
        receive(1_000_000);
        receive(2 * Transport.ALLOWANCE);
        transport.expect(1_000_000);
        transport.expect(0);
        receive(2 * Transport.ALLOWANCE);

        assertThatThrownBy(() -> receive(1)).isInstanceOf(IOException.class);
    }

    @Test
    void remainsExceededAfterTheNextRequest() {
        assertThatThrownBy(() -> receive(2 * Transport.ALLOWANCE + 1)).isInstanceOf(IOException.class);

        transport.expect(1_000_000);

        assertThat(transport.isExceeded()).isTrue();
    }

    @Test
    void endOfTheInputDoesNotCount() throws Exception {
        var input = transport.count(new ByteArrayInputStream(new byte[0]));
        for (var i = 0; i < 3; i++) {
            assertThat(input.read(new byte[1])).isEqualTo(-1);
        }
        receive(2 * Transport.ALLOWANCE);

        assertThat(transport.isExceeded()).isFalse();
    }

    @Test
    void closesWhatIsRegisteredBeforeAndAfterTheClose() {
        var closes = new AtomicInteger();
        transport.register(() -> {
            closes.incrementAndGet();
            throw new IOException("the next resource is closed despite this");
        });
        transport.register(closes::incrementAndGet);

        transport.close();
        assertThat(closes).hasValue(2);

        transport.register(closes::incrementAndGet);
        assertThat(closes).hasValue(3);
    }

    private void receive(int bytes) throws IOException {
        transport.count(new ByteArrayInputStream(new byte[bytes])).readNBytes(bytes);
    }
}
