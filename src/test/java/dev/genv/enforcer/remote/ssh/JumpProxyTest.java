package dev.genv.enforcer.remote.ssh;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import com.jcraft.jsch.JSch;
import java.util.concurrent.FutureTask;
import org.junit.jupiter.api.Test;

class JumpProxyTest {
    private final Lifeline lifeline = new Lifeline();

    @Test
    void whoReadsFromItEndsWithTheLifeline() throws Exception {
        var proxy = new JumpProxy(new JSch().getSession("root", "gpu-1"), lifeline);
        var read = new FutureTask<>(() -> proxy.getInputStream().read());
        var thread = Thread.ofVirtual().start(read);
        await().until(() -> thread.getState() == Thread.State.WAITING);

        lifeline.cut();

        assertThat(read.get()).isEqualTo(-1);
    }

    @Test
    void oneThatIsMadeTooLateHasNothingToRead() throws Exception {
        lifeline.cut();

        assertThat(new JumpProxy(new JSch().getSession("root", "gpu-1"), lifeline)
                        .getInputStream()
                        .read())
                .isEqualTo(-1);
    }
}
