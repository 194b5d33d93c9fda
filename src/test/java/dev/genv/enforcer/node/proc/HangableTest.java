package dev.genv.enforcer.node.proc;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;
import static org.hamcrest.Matchers.equalTo;

import dev.genv.enforcer.host.Reading.Failure;
import dev.genv.enforcer.model.ProcessId;
import dev.genv.enforcer.model.SubordinateUids;
import dev.genv.enforcer.node.proc.Hangable.Limits;
import dev.genv.enforcer.node.proc.Hangable.UnansweredException;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Function;
import java.util.stream.IntStream;
import org.assertj.core.api.AbstractThrowableAssert;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

@Timeout(600)
class HangableTest {
    private static final long ALICE = 1000;
    private static final long BOB = 1001;
    private static final Limits LISTED = Limits.LISTED;
    private static final Duration SHORT = Duration.ofMillis(20);
    private static final Duration LONG = Duration.ofSeconds(50);
    private final CountDownLatch released = new CountDownLatch(1);
    private final AtomicInteger interrupted = new AtomicInteger();
    /** Of those that nobody waits for any longer. */
    private final Hangable shortTimeout = reader(SHORT, LONG);

    @AfterEach
    void release() {
        released.countDown();
    }

    @Test
    void hangingProcessIsSkippedUntilItAnswers() {
        assertTimesOut(shortTimeout, 1, ALICE);
        assertUnanswered(shortTimeout, 1, ALICE, Failure.TIMEOUT);
        await().until(() -> canRead(shortTimeout, process(2), ALICE));
        await("another one of that pid").until(() -> canRead(shortTimeout, new ProcessId(1, 2000), ALICE));
        released.countDown();
        await().until(() -> canRead(shortTimeout, process(1), ALICE));
    }

    @Test
    void callThatHasAnsweredKeepsNoLaterOneFromItsSubject() throws Exception {
        var reader = reader(LONG, LONG);
        for (var i = 0; i < 2_000; i++) {
            assertThat(reader.call(process(1), ALICE, () -> "read")).isEqualTo("read");
        }
    }

    @ParameterizedTest
    @ValueSource(longs = {0, ALICE})
    void hangingReadsOfOneUserDoNotBlockOtherUsers(long user) {
        for (var i = 0; i < LISTED.mostOfUser(); i++) {
            assertTimesOut(shortTimeout, i, user);
        }
        assertUnanswered(shortTimeout, 100, user, Failure.NO_TIME)
                .hasMessage("not read: 8 other processes of its user do not answer");
        await().until(() -> canRead(shortTimeout, process(100), BOB));
    }

    /** It may be anybody's, so those of unknown users are one user and not root. */
    @Test
    void hangingReadsOfUnknownUsersDoNotBlockRoot() {
        for (var i = 0; i < LISTED.mostOfUser(); i++) {
            assertTimesOut(shortTimeout, i, null);
        }
        assertUnanswered(shortTimeout, 100, null, Failure.NO_TIME);
        await().until(() -> canRead(shortTimeout, process(100), 0L));
    }

    @Test
    void subordinateUidsShareTheReadersOfTheirOwner() {
        shortTimeout.setSubordinateUids(
                new SubordinateUids(List.of(new SubordinateUids.Range(ALICE, 100_000, 65_536))));
        for (var i = 0; i < LISTED.mostOfUser(); i++) {
            assertTimesOut(shortTimeout, i, 100_000L + i);
        }
        for (var uid : List.of(100_999L, ALICE)) {
            assertUnanswered(shortTimeout, 100, uid, Failure.NO_TIME);
        }
        await().until(() -> canRead(shortTimeout, process(100), BOB));
    }

    /** What was not even asked must not count as an answer. */
    @Test
    void limitsTheNumberOfHangingReads() {
        for (var i = 0; i < LISTED.most(); i++) {
            assertTimesOut(shortTimeout, i, 2000L + i);
        }
        assertUnanswered(shortTimeout, 100, BOB, Failure.NO_TIME)
                .hasMessageContaining("64 other processes already do not answer");
        released.countDown();
        await().until(() -> canRead(shortTimeout, process(100), BOB));
    }

    /** So what hangs among all processes keeps no listed process from being read. */
    @Test
    void searchesLeaveHalfOfTheThreadsOfAUserAndOfAll() {
        var searches = shortTimeout.with(limits(Limits.SEARCHED, SHORT, LONG));
        for (var i = 0; i < LISTED.mostOfUser() / 2; i++) {
            assertTimesOut(searches, i, ALICE);
        }
        assertUnanswered(searches, 100, ALICE, Failure.NO_TIME);
        for (var i = LISTED.mostOfUser() / 2; i < LISTED.mostOfUser(); i++) {
            assertTimesOut(shortTimeout, i, ALICE);
        }
        assertUnanswered(shortTimeout, 100, ALICE, Failure.NO_TIME);
        for (var i = LISTED.mostOfUser() / 2; i < LISTED.most() / 2; i++) {
            assertTimesOut(searches, 1000 + i, 2000L + i);
        }
        assertUnanswered(searches, 100, BOB, Failure.NO_TIME)
                .hasMessageContaining("32 other processes already do not answer");
        await().until(() -> canRead(shortTimeout, process(100), BOB));
    }

    /** What it would still do must not happen, for example while it waits for a lock. */
    @Test
    void abandonedThreadIsInterrupted() {
        assertTimesOut(shortTimeout, 1, ALICE);
        await().untilAtomic(interrupted, equalTo(1));
    }

    @Test
    void waitsOnlyBrieflyAfterTheObservationTimeIsUsedUp() {
        var reader = reader(SHORT, SHORT);
        assertTimesOut(reader, 1, ALICE);
        assertThatThrownBy(() -> readHanging(reader, 2, ALICE))
                .satisfies(e -> assertFailure(e, Failure.NO_TIME))
                .hasMessageContaining("no time was left");
        await().until(() -> canRead(reader, process(3), ALICE));
        reader.beginObservation();
        assertTimesOut(reader, 4, ALICE);
    }

    @Test
    void eachSubjectButTheHangingOnesIsAnsweredInOrder() throws Exception {
        var reader = reader(SHORT, LONG);
        var subjects = IntStream.range(0, 9).boxed().toList();
        await().untilAsserted(() -> assertThat(each(reader, subjects, ALICE, this::answer))
                .containsExactly("0", "1", "2", "TIMEOUT", "4", "5", "6", "7", "TIMEOUT"));
        released.countDown();
        await().untilAsserted(() -> assertThat(each(reader, subjects, ALICE, String::valueOf))
                .containsExactly("0", "1", "2", "3", "4", "5", "6", "7", "8"));
    }

    @Test
    void hangingCallsOfOneUserLeaveTheThreadsToOthers() throws Exception {
        var reader = reader(SHORT, LONG);
        var subjects = IntStream.range(0, 2 * LISTED.mostOfUser()).boxed().toList();
        assertThat(each(reader, subjects, ALICE, _ -> hang()))
                .startsWith("TIMEOUT")
                .endsWith("NO_TIME")
                .filteredOn("TIMEOUT"::equals)
                .hasSize(LISTED.mostOfUser());
        await().untilAsserted(() ->
                assertThat(each(reader, List.of(100), BOB, String::valueOf)).containsExactly("100"));
    }

    @Test
    void userOfAHangingCallIsAskedForOnce() throws Exception {
        var reader = reader(SHORT, LONG);
        var asked = new ConcurrentLinkedQueue<Integer>();
        reader.callEach(
                IntStream.range(0, 9).boxed().toList(),
                subject -> {
                    asked.add(subject);
                    return ALICE;
                },
                subject -> subject == 3 ? hang() : "",
                (_, _) -> "");
        assertThat(asked).contains(3).doesNotHaveDuplicates();
    }

    @Test
    void errorOfACallIsThrown() {
        var reader = reader(LONG, LONG);
        assertThatThrownBy(() -> reader.callEach(
                        List.of(1),
                        _ -> ALICE,
                        _ -> {
                            throw new UncheckedIOException(new IOException("broken"));
                        },
                        (_, why) -> why))
                .hasStackTraceContaining("broken");
    }

    private static List<String> each(Hangable reader, List<Integer> subjects, long uid, Function<Integer, String> work)
            throws InterruptedException {
        return reader.callEach(
                subjects, _ -> uid, work, (_, why) -> why.failure().toString());
    }

    private String answer(int subject) {
        return subject % 5 == 3 ? hang() : String.valueOf(subject);
    }

    private String hang() {
        while (released.getCount() > 0) {
            try {
                released.await();
            } catch (InterruptedException e) {
                // As a system call, it goes on.
            }
        }
        return "late";
    }

    @Test
    void interruptedThreadDoesNotWait() {
        var reader = reader(LONG, LONG);
        Thread.currentThread().interrupt();
        assertThatThrownBy(() -> readHanging(reader, 1, ALICE)).isInstanceOf(InterruptedException.class);
        assertThat(Thread.interrupted()).isFalse();
    }

    private static Hangable reader(Duration process, Duration observation) {
        return new Hangable("test", limits(LISTED, process, observation));
    }

    private static Limits limits(Limits numbers, Duration process, Duration observation) {
        return new Limits(numbers.most(), numbers.mostOfUser(), process, observation, SHORT);
    }

    private static AbstractThrowableAssert<?, ?> assertUnanswered(
            Hangable reader, int pid, @Nullable Long uid, Failure failure) {
        return assertThatThrownBy(() -> reader.call(process(pid), uid, () -> "asked"))
                .satisfies(e -> assertFailure(e, failure));
    }

    private static void assertFailure(Throwable e, Failure failure) {
        assertThat(e)
                .isInstanceOfSatisfying(
                        UnansweredException.class,
                        unanswered -> assertThat(unanswered.failure()).isEqualTo(failure));
    }

    private void assertTimesOut(Hangable reader, int pid, @Nullable Long uid) {
        assertThatThrownBy(() -> readHanging(reader, pid, uid)).satisfies(e -> assertFailure(e, Failure.TIMEOUT));
    }

    private void readHanging(Hangable reader, int pid, @Nullable Long uid) throws IOException, InterruptedException {
        reader.call(process(pid), uid, () -> {
            while (released.getCount() > 0) { // as a system call, which does not end for an interrupt
                try {
                    released.await();
                } catch (InterruptedException e) {
                    interrupted.incrementAndGet();
                }
            }
            return "too late";
        });
    }

    /** Not where the machine is slow: an answer that comes late is none. */
    private static boolean canRead(Hangable reader, ProcessId process, @Nullable Long uid) {
        try {
            return reader.call(process, uid, () -> true);
        } catch (IOException | InterruptedException e) {
            return false;
        }
    }

    private static ProcessId process(int pid) {
        return new ProcessId(pid, 1000);
    }
}
