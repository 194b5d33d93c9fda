package dev.genv.enforcer.enforcement.report;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.genv.enforcer.enforcement.report.Event.EventContent;
import dev.genv.enforcer.model.Problem;
import dev.genv.enforcer.model.ProblemCode;
import java.time.Instant;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

class EventLogTest {
    private static final Instant AT = Instant.parse("2026-11-20T09:22:28Z");

    private final EventLog log = new EventLog(5, 50_000);

    @Test
    void numbersEventsInTheirOrderWhateverTheWallClockSays() {
        log.append(AT, contents("a", "b"));
        log.append(AT.minusSeconds(3600), contents("c"));

        assertThat(log.latest()).isEqualTo(3);
        assertThat(log.after(0, 10).events()).extracting(Event::sequence).containsExactly(1L, 2L, 3L);
        assertPage(0, "a b c");
        assertThat(log.after(1, 1).events()).extracting(EventLogTest::text).containsExactly("b");
    }

    @Test
    void reportsAGapIfTheReaderMissedEvents() {
        append("a", "b", "c", "d", "e", "f", "g");

        assertPage(0, "gap c d e f g");
        assertPage(1, "gap c d e f g");
        assertPage(2, "c d e f g");
        assertPage(7, "");
    }

    @Test
    void boundsTheSize() {
        var second = "y".repeat(30_000);
        append("x".repeat(30_000), second);
        assertPage(0, "gap " + second);
    }

    @Test
    void forgetsAnEventThatIsLargerThanTheLimit() {
        append("x".repeat(300_000));
        assertPage(0, "gap");
        append("a");
        assertPage(1, "a");
    }

    @Test
    void returnsEventsUpToOneThatIsLost() {
        append("a");
        log.continueFrom(UUID::randomUUID, List.of(), 3);
        append("d", "e");

        assertPage(0, "a");
        assertPage(1, "gap d e");
        assertPage(2, "gap d e");
        assertPage(3, "d e");
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
    void aBlockedListenerDoesNotDelayTheCycleAndMissesNothing() {
        var caller = Thread.currentThread();
        var release = new CompletableFuture<Boolean>();
        var begun = new CompletableFuture<Boolean>();
        var seen = new AtomicInteger();
        try (var subscription = log.subscribe(() -> {
            assertThat(Thread.currentThread()).isNotEqualTo(caller);
            begun.complete(true);
            release.join();
            seen.set(log.after(0, 10).events().size());
        })) {
            append("a");
            await().until(begun::isDone);
            append("b");
            append("c");
            release.complete(true);
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

    private void assertPage(long position, String expected) {
        var page = log.after(position, 10);
        var texts = page.events().stream().map(EventLogTest::text);
        assertThat(Stream.concat(page.hasGap() ? Stream.of("gap") : Stream.empty(), texts))
                .as("after %d", position)
                .containsExactlyElementsOf(expected.isEmpty() ? List.of() : List.of(expected.split(" ", -1)));
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
