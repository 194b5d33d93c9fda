package dev.genv.enforcer.remote.ssh.transport.socket;

import static dev.genv.enforcer.testsupport.TestTimeouts.HANG;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import java.io.IOException;
import java.util.Random;
import java.util.concurrent.FutureTask;
import org.junit.jupiter.api.Test;

class PipeTest {
    private final Pipe pipe = new Pipe();

    @Test
    void readsTheWrittenBytesInOrder() throws Exception {
        var bytes = new byte[1 << 20];
        var random = new Random(3);
        random.nextBytes(bytes);
        Thread.startVirtualThread(() -> {
            try (pipe) {
                for (var at = 0; at < bytes.length; ) {
                    var some = Math.min(bytes.length - at, 1 + random.nextInt(90_000));
                    pipe.write(bytes, at, some);
                    at += some;
                }
            } catch (IOException e) {
                throw new IllegalStateException(e);
            }
        });

        assertThat(pipe.source().readAllBytes()).isEqualTo(bytes);
    }

    @Test
    void readsBytesAsUnsigned() throws Exception {
        pipe.write(0xFF);
        pipe.write(0x101);
        pipe.close();

        assertThat(pipe.source().read()).isEqualTo(0xFF);
        assertThat(pipe.source().read()).isEqualTo(1);
        assertThat(pipe.source().read()).isEqualTo(-1);
        assertThat(pipe.source().read(new byte[3], 0, 0)).isZero();
        assertThat(pipe.source().read(new byte[3], 0, 3)).isEqualTo(-1);
    }

    @Test
    void survivesTheEndOfTheReadingThread() throws Exception {
        pipe.write('a');
        assertThat(Thread.ofPlatform()
                        .start(new FutureTask<>(() -> pipe.source().read()))
                        .join(HANG))
                .isTrue();

        pipe.write('b');

        assertThat(pipe.source().read()).isEqualTo('b');
    }

    @Test
    void closingEndsWaitingReadersAndWriters() throws Exception {
        var full = new FutureTask<>(() -> {
            pipe.write(new byte[1 << 20], 0, 1 << 20);
            return true;
        });
        var thread = Thread.ofVirtual().start(full);
        await().until(() -> thread.getState() == Thread.State.WAITING);
        pipe.source().close();

        thread.join();
        assertThat(full.exceptionNow()).isInstanceOf(IOException.class);

        var empty = new Pipe();
        var reader = new FutureTask<>(() -> empty.source().read());
        var waiting = Thread.ofVirtual().start(reader);
        await().until(() -> waiting.getState() == Thread.State.WAITING);
        empty.close();
        assertThat(reader.get()).isEqualTo(-1);
    }

    @Test
    void refusesInvalidLengths() {
        assertThatThrownBy(() -> pipe.write(new byte[3], 0, 4)).isInstanceOf(IndexOutOfBoundsException.class);
        assertThatThrownBy(() -> pipe.write(new byte[3], 0, -1)).isInstanceOf(IndexOutOfBoundsException.class);
    }
}
