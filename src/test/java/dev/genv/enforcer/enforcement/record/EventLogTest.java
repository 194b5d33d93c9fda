package dev.genv.enforcer.enforcement.record;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.genv.enforcer.enforcement.record.Event.EventContent;
import dev.genv.enforcer.model.Problem;
import dev.genv.enforcer.model.ProblemCode;
import java.time.Instant;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

class EventLogTest {
    private static final Instant AT = Instant.parse("2026-11-20T09:22:28Z");

    private final EventLog log = new EventLog(5, 100_000);

    @Test
    void numbersEventsInTheirOrder() {
        append("a", "b");
        append("c");

        assertThat(log.latest()).isEqualTo(3);
        var page = log.after(0, 10);
        assertThat(page.hasGap()).isFalse();
        assertThat(page.events()).extracting(Event::sequence).containsExactly(1L, 2L, 3L);
        assertThat(page.events()).extracting(EventLogTest::text).containsExactly("a", "b", "c");
    }

    @Test
    void orderDoesNotDependOnTheWallClock() {
        log.append(AT, contents("a"));
        log.append(AT.minusSeconds(3600), contents("b"));

        assertThat(log.after(0, 10).events()).extracting(EventLogTest::text).containsExactly("a", "b");
    }

    @Test
    void returnsPages() {
        append("a", "b", "c", "d");

        assertThat(log.after(1, 2).events()).extracting(EventLogTest::text).containsExactly("b", "c");
        assertThat(log.after(3, 2).events()).extracting(EventLogTest::text).containsExactly("d");
        assertThat(log.after(4, 2).events()).isEmpty();
    }

    @Test
    void reportsAGapIfTheReaderMissedEvents() {
        append("a", "b", "c", "d", "e", "f", "g");

        assertThat(log.after(0, 10).hasGap()).isTrue();
        assertThat(log.after(1, 10).hasGap()).isTrue();
        assertThat(log.after(2, 10).hasGap()).isFalse();
        assertThat(log.after(1, 10).events()).extracting(EventLogTest::text).containsExactly("c", "d", "e", "f", "g");
    }

    @Test
    void boundsTheBytes() {
        append("x".repeat(30_000), "y".repeat(30_000));

        assertThat(log.after(0, 10).events())
                .singleElement()
                .extracting(EventLogTest::text)
                .asString()
                .startsWith("y");
        assertThat(log.after(0, 10).hasGap()).isTrue();
    }

    @Test
    void forgetsAnEventThatIsLargerThanTheLimit() {
        append("x".repeat(300_000));

        assertThat(log.after(0, 10).events()).isEmpty();
        assertThat(log.after(0, 10).hasGap()).isTrue();
        append("a");
        assertThat(log.after(1, 10).events()).extracting(EventLogTest::text).containsExactly("a");
    }

    @Test
    void returnsEventsUpToOneThatIsLost() {
        append("a");
        log.continueFrom(UUID::randomUUID, List.of(), 3);
        append("d", "e");

        assertThat(log.after(0, 10).hasGap()).isFalse();
        assertThat(log.after(0, 10).events()).extracting(EventLogTest::text).containsExactly("a");
        assertThat(log.after(1, 10).hasGap()).isTrue();
        assertThat(log.after(1, 10).events()).extracting(EventLogTest::text).containsExactly("d", "e");
        assertThat(log.after(2, 10).hasGap()).isTrue();
        assertThat(log.after(3, 10).hasGap()).isFalse();
    }

    @Test
    void positionOfAnEventThatIsNotStoredIsOfThisRun() {
        var store = UUID.randomUUID();
        log.continueFrom(() -> store, List.of(), 3);
        append("d", "e");
        log.confirm(log.after(3, 1).events());

        assertThat(log.stream(3)).isEqualTo(store);
        assertThat(log.stream(4)).isEqualTo(store);
        assertThat(log.stream(5)).isNotEqualTo(store);
        assertThat(log.isKnown(log.stream(5), 5)).isTrue();
        assertThat(log.isKnown(store, 5)).isTrue();
        assertThat(log.isKnown(store, 6)).as("of a database that is lost").isFalse();
        assertThat(log.isKnown(UUID.randomUUID(), 3)).isFalse();
    }

    @Test
    void informsListenersOnAnotherThread() {
        var calls = new AtomicInteger();
        var caller = Thread.currentThread();
        try (var subscription = log.subscribe(() -> {
            assertThat(Thread.currentThread()).isNotEqualTo(caller);
            calls.incrementAndGet();
        })) {
            append("a");
            await().until(() -> calls.get() > 0);
            assertThat(subscription).isNotNull();
        }
    }

    @Test
    void aBlockedListenerDoesNotDelayTheCycleAndMissesNothing() {
        var release = new CountDownLatch(1);
        var begun = new CountDownLatch(1);
        var seen = new AtomicInteger();
        try (var subscription = log.subscribe(() -> {
            begun.countDown();
            awaitUninterrupted(release);
            seen.set(log.after(0, 10).events().size());
        })) {
            append("a");
            awaitUninterrupted(begun);
            append("b");
            append("c");
            release.countDown();
            await().until(() -> seen.get() == 3);
            assertThat(subscription).isNotNull();
        }
    }

    @Test
    void aFailingListenerDoesNotAffectTheOthers() {
        var calls = new AtomicInteger();
        try (var failing = log.subscribe(() -> {
                    throw new IllegalStateException("broken");
                });
                var working = log.subscribe(calls::incrementAndGet)) {
            append("a");
            await().until(() -> calls.get() == 1);
            append("b");
            await().until(() -> calls.get() == 2);
            assertThat(List.of(failing, working)).hasSize(2);
        }
    }

    private static void awaitUninterrupted(CountDownLatch latch) {
        try {
            latch.await();
        } catch (InterruptedException e) {
            throw new AssertionError(e);
        }
    }

    private void append(String... texts) {
        log.append(AT, contents(texts));
    }

    private static List<EventContent> contents(String... texts) {
        return Stream.of(texts)
                .<EventContent>map(text -> new EventContent.ProblemBegan("gpu-1", new Problem(ProblemCode.BUSY, text)))
                .toList();
    }

    private static String text(Event event) {
        return event.content() instanceof EventContent.ProblemBegan(var _, var problem) ? problem.detail() : "";
    }
}
