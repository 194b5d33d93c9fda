package dev.genv.enforcer.node;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import dev.genv.enforcer.model.ProcessId;
import java.io.FileNotFoundException;
import java.io.IOException;
import java.io.InterruptedIOException;
import java.time.Duration;
import java.util.HashSet;
import java.util.concurrent.CountDownLatch;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(600)
class MemoryReaderTest {
    private static final long ALICE = 1000;
    private static final long BOB = 1001;
    private static final Duration SHORT = Duration.ofMillis(20);
    private static final Duration LONG = Duration.ofSeconds(50);
    private final CountDownLatch released = new CountDownLatch(1);
    /** Of those that nobody waits for any longer. */
    private final MemoryReader impatient = reader(SHORT, LONG);

    @AfterEach
    void release() {
        released.countDown();
    }

    @Test
    void givesWhatWasRead() throws IOException {
        assertThat(reader(LONG, LONG).read(process(1), ALICE, () -> "text")).isEqualTo("text");
    }

    @Test
    void aFailureIsHandedOnAndTheNextQuestionIsAsked() throws IOException {
        var reader = reader(LONG, LONG);
        for (var i = 0; i < 100; i++) {
            assertThatThrownBy(() -> reader.read(process(1), ALICE, () -> {
                        throw new FileNotFoundException("why");
                    }))
                    .isInstanceOf(FileNotFoundException.class)
                    .hasMessage("why");
        }
        assertThat(reader.read(process(1), ALICE, () -> 1)).isEqualTo(1);
    }

    @Test
    void aWholeLookNeedsFewThreads() throws IOException {
        var reader = reader(LONG, LONG);
        var threads = new HashSet<Thread>();
        for (var i = 0; i < 5000; i++) {
            threads.add(reader.read(process(i), ALICE, Thread::currentThread));
        }
        assertThat(threads).hasSizeLessThan(MemoryReader.MOST_STUCK).allMatch(Thread::isDaemon);
    }

    @Test
    void whoDoesNotAnswerIsLeftAloneUntilHeDoes() {
        assertSilent(impatient, 1, ALICE);
        assertThatThrownBy(() -> impatient.read(process(1), ALICE, () -> "asked again"))
                .isInstanceOf(NoAnswerException.class);
        await().until(() -> reads(impatient, process(2), ALICE));
        await("another one of that pid").until(() -> reads(impatient, new ProcessId(1, 2000), ALICE));
        released.countDown();
        await().until(() -> reads(impatient, process(1), ALICE));
    }

    @Test
    void aUserCannotUseUpWhatThereIsForEverybody() {
        for (var i = 0; i < MemoryReader.MOST_STUCK_OF_A_USER; i++) {
            assertSilent(impatient, i, ALICE);
        }
        assertThat(reads(impatient, process(100), ALICE)).isFalse();
        await().until(() -> reads(impatient, process(100), BOB));
    }

    /** What was not even asked must not count as an answer. */
    @Test
    void noMoreThanSoManyAreEverStuck() {
        for (var i = 0; i < MemoryReader.MOST_STUCK; i++) {
            assertSilent(impatient, i, 0);
        }
        assertThatThrownBy(() -> impatient.read(process(100), BOB, () -> "asked"))
                .isNotInstanceOf(NoAnswerException.class)
                .hasMessageContaining("64 other processes do not answer");
        released.countDown();
        await().until(() -> reads(impatient, process(100), BOB));
    }

    @Test
    void whenTheTimeForALookIsUpNobodyIsWaitedForLong() {
        var reader = new MemoryReader(new MemoryReader.Patience(SHORT, SHORT, SHORT));
        assertSilent(reader, 1, ALICE);
        assertThatThrownBy(() -> stuck(reader, 2, ALICE))
                .isNotInstanceOf(NoAnswerException.class)
                .hasMessageContaining("no time left");
        await().until(() -> reads(reader, process(3), ALICE));
        reader.startLook();
        assertSilent(reader, 4, ALICE);
    }

    @Test
    void whoIsInterruptedWaitsForNobody() {
        var reader = reader(LONG, LONG);
        Thread.currentThread().interrupt();
        assertThatThrownBy(() -> stuck(reader, 1, ALICE)).isInstanceOf(InterruptedIOException.class);
        assertThat(Thread.interrupted()).isTrue();
    }

    private static MemoryReader reader(Duration process, Duration look) {
        return new MemoryReader(new MemoryReader.Patience(process, look, SHORT));
    }

    private void assertSilent(MemoryReader reader, int pid, long uid) {
        assertThatThrownBy(() -> stuck(reader, pid, uid)).isInstanceOf(NoAnswerException.class);
    }

    private void stuck(MemoryReader reader, int pid, long uid) throws IOException {
        reader.read(process(pid), uid, () -> {
            released.await();
            return "too late";
        });
    }

    /** Not where the machine is slow: an answer that comes late is none. */
    private static boolean reads(MemoryReader reader, ProcessId process, long uid) {
        try {
            return reader.read(process, uid, () -> true);
        } catch (IOException e) {
            return false;
        }
    }

    private static ProcessId process(int pid) {
        return new ProcessId(pid, 1000);
    }
}
