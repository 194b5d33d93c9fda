package dev.genv.enforcer.remote.ssh;

import static dev.genv.enforcer.testsupport.TestTimeouts.HANG;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import com.jcraft.jsch.JSch;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.util.concurrent.FutureTask;
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

    @Test
    void closeEndsPendingReads() throws Exception {
        var proxy = new JumpProxy(new JSch().getSession("root", "gpu-1"), transport);
        var read = new FutureTask<>(() -> proxy.getInputStream().read());
        var thread = Thread.ofVirtual().start(read);
        await().until(() -> thread.getState() == Thread.State.WAITING);

        transport.close();

        assertThat(thread.join(HANG)).isTrue();
    }
}
