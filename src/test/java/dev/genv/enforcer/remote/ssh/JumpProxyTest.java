package dev.genv.enforcer.remote.ssh;

import static dev.genv.enforcer.testsupport.TestTimeouts.HANG;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import com.jcraft.jsch.JSch;
import java.nio.channels.ClosedChannelException;
import java.util.concurrent.FutureTask;
import org.junit.jupiter.api.Test;

class JumpProxyTest {
    private final Transport transport = new Transport(1);

    @Test
    void closeEndsPendingReads() throws Exception {
        var proxy = new JumpProxy(new JSch().getSession("root", "gpu-1"), transport);
        var read = new FutureTask<>(() -> proxy.getInputStream().read());
        var thread = Thread.ofVirtual().start(read);
        await().until(() -> thread.getState() == Thread.State.WAITING);

        transport.close();

        assertThat(thread.join(HANG)).isTrue();
    }

    @Test
    void readsNothingWhenCreatedAfterTheClose() throws Exception {
        transport.close();

        var proxy = new JumpProxy(new JSch().getSession("root", "gpu-1"), transport);

        assertThatThrownBy(() -> proxy.getInputStream().read()).isInstanceOf(ClosedChannelException.class);
    }
}
