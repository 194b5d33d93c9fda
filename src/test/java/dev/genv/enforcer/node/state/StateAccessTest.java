package dev.genv.enforcer.node.state;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import dev.genv.enforcer.host.Reading;
import dev.genv.enforcer.host.StateFacts.Directory;
import dev.genv.enforcer.node.proc.ProcFs;
import dev.genv.enforcer.node.state.StateAccess.StateAccessException;
import dev.genv.enforcer.testsupport.fake.FakeProc;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import org.assertj.core.api.AbstractThrowableAssert;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

@Timeout(600)
class StateAccessTest {
    private static final Duration SHORT = Duration.ofMillis(20);
    private static final Duration LONG = Duration.ofSeconds(50);

    private final CountDownLatch released = new CountDownLatch(1);
    private final AtomicInteger begun = new AtomicInteger();
    private final Path state;
    private final FakeProc proc;
    private final StateAccess access;

    StateAccessTest(@TempDir Path folder) throws IOException {
        state = folder.toRealPath().resolve("genv");
        proc = new FakeProc(folder.resolve("proc"));
        access = new StateAccess(state, new ProcFs(proc.root()));
    }

    @AfterEach
    void release() {
        released.countDown();
    }

    @Test
    void hangingCallIsReportedWithItsFileSystem() throws Exception {
        mounts("63 22 0:39 / %s rw - nfs4 server:/x rw".formatted(state));
        assertStuck()
                .isInstanceOfSatisfying(
                        StateAccessException.class,
                        e -> assertThat(e.directory())
                                .isInstanceOfSatisfying(
                                        Directory.Unreadable.class,
                                        directory ->
                                                assertThat(directory.failure()).isEqualTo(Reading.Failure.TIMEOUT)))
                .hasMessage(
                        "%s does not answer: there was no answer within 20 ms; it is in a file system of the type nfs4 that is mounted on %s",
                        state, state);
        assertThat(access.call(LONG, () -> "another one may")).isNotEmpty();
    }

    @Test
    void leavesAtMostEightThreadsBehind() throws Exception {
        // A call whose thread has not begun by then is not left behind.
        await().untilAsserted(() -> assertStuck().hasMessageContaining("8 earlier calls have not returned"));
        assertThat(begun).hasValueLessThanOrEqualTo(StateAccess.MAX_STUCK);
        released.countDown();
        await().until(this::answers);
    }

    private void mounts(String line) throws IOException {
        proc.mounts("self", "22 1 254:0 / / rw - ext4 /dev/root rw", line);
    }

    private AbstractThrowableAssert<?, ? extends Throwable> assertStuck() {
        return assertThatThrownBy(() -> access.call(SHORT, () -> {
            begun.incrementAndGet();
            awaitUninterrupted();
            return "too late";
        }));
    }

    /** As a system call that a file system keeps. */
    private void awaitUninterrupted() {
        while (released.getCount() > 0) {
            try {
                released.await();
            } catch (InterruptedException goOn) {
                // It does not end for that.
            }
        }
    }

    private boolean answers() throws Exception {
        try {
            return access.call(LONG, () -> true);
        } catch (StateAccessException e) {
            return false;
        }
    }
}
