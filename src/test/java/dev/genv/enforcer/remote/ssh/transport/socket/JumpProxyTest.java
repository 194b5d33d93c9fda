package dev.genv.enforcer.remote.ssh.transport.socket;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import com.jcraft.jsch.JSch;
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

        assertThat(read.get()).isEqualTo(-1);
    }

    @Test
    void readsEndOfStreamWhenCreatedAfterTheAbort() throws Exception {
        abortHandle.abort();

        assertThat(new JumpProxy(new JSch().getSession("root", "gpu-1"), abortHandle)
                        .getInputStream()
                        .read())
                .isEqualTo(-1);
    }
}
