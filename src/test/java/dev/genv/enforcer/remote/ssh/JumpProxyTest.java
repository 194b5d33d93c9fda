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
    private final AbortHandle abortHandle = new AbortHandle();

    @Test
    void abortEndsPendingReads() throws Exception {
        var proxy = new JumpProxy(new JSch().getSession("root", "gpu-1"), abortHandle);
        var read = new FutureTask<>(() -> proxy.getInputStream().read());
        var thread = Thread.ofVirtual().start(read);
        await().until(() -> thread.getState() == Thread.State.WAITING);

        abortHandle.abort();

        assertThat(thread.join(HANG)).isTrue();
    }

    @Test
    void readsNothingWhenCreatedAfterTheAbort() throws Exception {
        abortHandle.abort();

        var proxy = new JumpProxy(new JSch().getSession("root", "gpu-1"), abortHandle);

        assertThatThrownBy(() -> proxy.getInputStream().read()).isInstanceOf(ClosedChannelException.class);
    }
}
