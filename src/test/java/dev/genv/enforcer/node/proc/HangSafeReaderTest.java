package dev.genv.enforcer.node.proc;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import dev.genv.enforcer.model.ProcessId;
import dev.genv.enforcer.model.SubordinateUids;
import dev.genv.enforcer.node.proc.HangSafeReader.NotReadException;
import java.io.FileNotFoundException;
import java.io.IOException;
import java.io.InterruptedIOException;
import java.time.Duration;
import java.util.HashSet;
import java.util.List;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(600)
class HangSafeReaderTest {
    private static final long ALICE = 1000;
    private static final long BOB = 1001;
    private static final Duration SHORT = Duration.ofMillis(20);
    private static final Duration LONG = Duration.ofSeconds(50);
    private final CountDownLatch released = new CountDownLatch(1);
    /** Of those that nobody waits for any longer. */
    private final HangSafeReader shortTimeoutConnection = reader(SHORT, LONG);

    @AfterEach
    void release() {
        released.countDown();
    }

    @Test
    void returnsTheResult() throws IOException {
        assertThat(reader(LONG, LONG).read(process(1), ALICE, () -> "text")).isEqualTo("text");
    }

    @Test
    void failureIsPassedOnAndTheNextReadIsTried() throws IOException {
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
    void manyReadsNeedFewThreads() throws IOException {
        var reader = reader(LONG, LONG);
        var threads = new HashSet<Thread>();
        for (var i = 0; i < 5000; i++) {
            threads.add(reader.read(process(i), ALICE, Thread::currentThread));
        }
        assertThat(threads).hasSizeLessThan(HangSafeReader.MAX_STUCK).allMatch(Thread::isDaemon);
    }

    @Test
    void hangingProcessIsSkippedUntilItAnswers() {
        assertTimesOut(shortTimeoutConnection, 1, ALICE);
        assertThatThrownBy(() -> shortTimeoutConnection.read(process(1), ALICE, () -> "asked again"))
                .isInstanceOf(ReadTimeoutException.class);
        await().until(() -> canRead(shortTimeoutConnection, process(2), ALICE));
        await("another one of that pid").until(() -> canRead(shortTimeoutConnection, new ProcessId(1, 2000), ALICE));
        released.countDown();
        await().until(() -> canRead(shortTimeoutConnection, process(1), ALICE));
    }

    @Test
    void hangingReadsOfOneUserDoNotBlockOtherUsers() {
        for (var i = 0; i < HangSafeReader.MAX_STUCK_PER_USER; i++) {
            assertTimesOut(shortTimeoutConnection, i, ALICE);
        }
        assertThatThrownBy(() -> shortTimeoutConnection.read(process(100), ALICE, () -> "asked"))
                .isInstanceOf(NotReadException.class)
                .hasMessage("not read: 8 other processes of its user do not answer");
        await().until(() -> canRead(shortTimeoutConnection, process(100), BOB));
    }

    @Test
    void subordinateUidsShareTheReadersOfTheirOwner() {
        shortTimeoutConnection.setSubordinateUids(
                new SubordinateUids(List.of(new SubordinateUids.Range(ALICE, 100_000, 65_536))));
        for (var i = 0; i < HangSafeReader.MAX_STUCK_PER_USER; i++) {
            assertTimesOut(shortTimeoutConnection, i, 100_000 + i);
        }
        for (var uid : List.of(100_999L, ALICE)) {
            assertThatThrownBy(() -> shortTimeoutConnection.read(process(100), uid, () -> "asked"))
                    .isInstanceOf(NotReadException.class);
        }
        await().until(() -> canRead(shortTimeoutConnection, process(100), BOB));
    }

    @Test
    void rootCannotUseAllReaders() {
        for (var i = 0; i < HangSafeReader.MAX_STUCK_PER_USER; i++) {
            assertTimesOut(shortTimeoutConnection, i, 0);
        }
        assertThatThrownBy(() -> shortTimeoutConnection.read(process(100), 0, () -> "asked"))
                .isInstanceOf(NotReadException.class);
        await().until(() -> canRead(shortTimeoutConnection, process(100), BOB));
    }

    /** What was not even asked must not count as an answer. */
    @Test
    void limitsTheNumberOfHangingReads() {
        for (var i = 0; i < HangSafeReader.MAX_STUCK; i++) {
            assertTimesOut(shortTimeoutConnection, i, 2000 + i);
        }
        assertThatThrownBy(() -> shortTimeoutConnection.read(process(100), BOB, () -> "asked"))
                .isNotInstanceOf(ReadTimeoutException.class)
                .hasMessageContaining("64 other processes already do not answer");
        released.countDown();
        await().until(() -> canRead(shortTimeoutConnection, process(100), BOB));
    }

    @Test
    void waitsOnlyBrieflyAfterTheObservationTimeIsUsedUp() {
        var reader = new HangSafeReader(new HangSafeReader.ReadTimeouts(SHORT, SHORT, SHORT));
        assertTimesOut(reader, 1, ALICE);
        assertThatThrownBy(() -> readHanging(reader, 2, ALICE))
                .isNotInstanceOf(ReadTimeoutException.class)
                .hasMessageContaining("no time was left");
        await().until(() -> canRead(reader, process(3), ALICE));
        reader.beginObservation();
        assertTimesOut(reader, 4, ALICE);
    }

    @Test
    void interruptedThreadDoesNotWait() {
        var reader = reader(LONG, LONG);
        Thread.currentThread().interrupt();
        assertThatThrownBy(() -> readHanging(reader, 1, ALICE)).isInstanceOf(InterruptedIOException.class);
        assertThat(Thread.interrupted()).isTrue();
    }

    @Test
    void readsABatchOnOneThread() throws Exception {
        var reader = reader(LONG, LONG);
        var threads = reader.readAll(IntStream.range(0, 100).boxed().toList(), pid -> threadOf(reader, pid));
        assertThat(threads)
                .hasSize(100)
                .containsOnly(threads.getFirst())
                .doesNotContain(Thread.currentThread().getName());
    }

    @Test
    void emptyBatchHasNoResults() throws Exception {
        assertThat(reader(LONG, LONG).readAll(List.of(), _ -> "read")).isEmpty();
    }

    /** Only the read that hangs is lost; what else belongs to that process is read again. */
    @Test
    void batchContinuesAfterAHangingProcess() throws Exception {
        var attempts = new AtomicInteger();
        var results = shortTimeoutConnection.readAll(List.of(1, 2, 3), pid -> {
            attempts.incrementAndGet();
            return pid == 2 ? hanging(pid) : "read";
        });
        assertThat(results).containsExactly("read", "ReadTimeoutException", "read");
        assertThat(attempts).hasValue(4);
    }

    @Test
    void abandonedThreadReadsNothingMore() throws Exception {
        var read = new ConcurrentLinkedQueue<Integer>();
        shortTimeoutConnection.readAll(List.of(1, 2), pid -> {
            var result = pid == 1 ? hanging(pid) : "read";
            read.add(pid);
            return result;
        });
        assertThat(read).containsExactly(1, 2);
        released.countDown();
        await().until(() -> canRead(shortTimeoutConnection, process(1), ALICE));
        await().until(() -> read.size() == 3); // the abandoned thread ends its own item
        assertThat(read).containsExactly(1, 2, 1);
    }

    @Test
    void failureOfABatchIsPassedOn() {
        assertThatThrownBy(() -> reader(LONG, LONG).readAll(List.of(1), _ -> {
                    throw new IllegalStateException("why");
                }))
                .isInstanceOf(IllegalStateException.class)
                .hasMessage("why");
    }

    @Test
    void interruptEndsABatch() {
        var reader = reader(LONG, LONG);
        Thread.currentThread().interrupt();
        assertThatThrownBy(() -> reader.readAll(List.of(1), this::hanging)).isInstanceOf(InterruptedException.class);
    }

    /** Returns the kind of the failure. */
    private String hanging(int pid) {
        try {
            readHanging(shortTimeoutConnection, pid, ALICE);
            return "read";
        } catch (IOException e) {
            return e.getClass().getSimpleName();
        }
    }

    private static String threadOf(HangSafeReader reader, int pid) {
        try {
            return reader.read(process(pid), ALICE, () -> Thread.currentThread().toString());
        } catch (IOException e) {
            return e.toString();
        }
    }

    private static HangSafeReader reader(Duration process, Duration observation) {
        return new HangSafeReader(new HangSafeReader.ReadTimeouts(process, observation, SHORT));
    }

    private void assertTimesOut(HangSafeReader reader, int pid, long uid) {
        assertThatThrownBy(() -> readHanging(reader, pid, uid)).isInstanceOf(ReadTimeoutException.class);
    }

    private void readHanging(HangSafeReader reader, int pid, long uid) throws IOException {
        reader.read(process(pid), uid, () -> {
            released.await();
            return "too late";
        });
    }

    /** Not where the machine is slow: an answer that comes late is none. */
    private static boolean canRead(HangSafeReader reader, ProcessId process, long uid) {
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
