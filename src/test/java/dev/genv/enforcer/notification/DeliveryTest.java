package dev.genv.enforcer.notification;

import static dev.genv.enforcer.notification.NoticeFixture.opened;
import static dev.genv.enforcer.testsupport.builder.GpuProcessBuilder.process;
import static dev.genv.enforcer.testsupport.builder.ViolationBuilder.violationOf;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.genv.enforcer.enforcement.record.EventLog;
import dev.genv.enforcer.notification.Delivery.RetryDelay;
import dev.genv.enforcer.testsupport.fake.FakeTime;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.random.RandomGenerator;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class DeliveryTest {
    private static final Duration SHORTEST = Duration.ofSeconds(5);
    private static final Duration LONGEST = Duration.ofHours(1);
    private static final Duration LONG = Duration.ofDays(1);

    private static final RetryDelay RETRY = new RetryDelay(Duration.ofMillis(50), Duration.ofSeconds(1), () -> 0);

    private final EventLog log = new EventLog();

    @Test
    void runsAtItsStartAndAfterEachEvent() {
        var runs = new AtomicInteger();
        try (var _ = new Task(_ -> runs.incrementAndGet()).start(log, RETRY)) {
            await().until(() -> runs.get() >= 1);
            var before = runs.get();
            append();
            await().until(() -> runs.get() > before);
        }
    }

    /** The cycle appends events. */
    @Test
    void appendingNeverWaitsForADeliveryThatHangs() {
        var entered = new CountDownLatch(1);
        var interrupted = new CountDownLatch(1);
        try (var _ = new Task(_ -> {
                    entered.countDown();
                    try {
                        Thread.sleep(LONG);
                    } catch (InterruptedException e) {
                        interrupted.countDown();
                        throw e;
                    }
                })
                .start(log, RETRY)) {
            await().until(() -> entered.getCount() == 0);
            for (var i = 0; i < 100_000; i++) {
                append();
            }
            assertThat(log.latest()).isEqualTo(100_000);
            assertThat(interrupted.getCount()).isEqualTo(1);
        }
        await().until(() -> interrupted.getCount() == 0);
    }

    /** Other kinds of deliveries have threads of their own. */
    @Test
    void defectIsCountedAndAProblemWhileItIsRepeated() {
        var works = new AtomicBoolean();
        var task = new Task(delivery -> {
            if (works.get()) {
                delivery.countSent();
            } else {
                throw new IllegalStateException("a \u001b defect");
            }
        });
        try (var _ = task.start(log, RETRY)) {
            await().until(() -> task.failed.count() >= 3);
            assertThat(task.problem())
                    .contains("an error in the service: java.lang.IllegalStateException: a \\u001b defect");
            works.set(true);
            await().until(() -> task.problem().isEmpty());
        }
    }

    @Test
    void newEventsDoNotShortenThePauseAfterADefect() {
        var runs = new AtomicInteger();
        var day = new RetryDelay(LONG, LONG, () -> 0);
        var task = new Task(_ -> {
            runs.incrementAndGet();
            throw new IllegalStateException("a defect");
        });
        try (var _ = task.start(log, day)) {
            await().until(() -> task.failed.count() == 1);
            append();
            await("it sleeps, and does not wait for events").until(() -> isAsleep("delivery-test"));
            assertThat(runs).hasValue(1);
        }
    }

    private static boolean isAsleep(String thread) {
        return Thread.getAllStackTraces().entrySet().stream()
                .filter(entry -> entry.getKey().getName().equals(thread))
                .anyMatch(entry -> Arrays.stream(entry.getValue())
                        .anyMatch(frame -> frame.getMethodName().equals("sleep")));
    }

    private void append() {
        log.append(FakeTime.START, List.of(opened(violationOf(process(812)))));
    }

    @Test
    void positionIsSetBeforeTheFirstRun() {
        append();
        var begun = new AtomicLong(-1);
        var seen = new AtomicLong(-1);
        var delivery = new Task(_ -> seen.set(begun.get())) {
            @Override
            void begin(EventLog events) {
                begun.set(events.latest());
            }
        };
        try (var _ = delivery.start(log, RETRY)) {
            await().until(() -> seen.get() >= 0);
            assertThat(seen).hasValue(1);
        }
    }

    private interface Work {
        void run(Delivery delivery) throws InterruptedException;
    }

    private static class Task extends Delivery {
        private final Work work;

        Task(Work work) {
            super("test", new FakeTime().ticker(), new SimpleMeterRegistry());
            this.work = work;
        }

        @Override
        Duration run(EventLog log) throws InterruptedException {
            work.run(this);
            return LONG;
        }
    }

    @Test
    void doublesFromTheShortestToTheLongest() {
        RandomGenerator lowest = () -> 0;
        var delays = new RetryDelay(SHORTEST, LONGEST, lowest);
        assertThat(IntStream.rangeClosed(1, 12)
                        .mapToObj(delays::after)
                        .map(Duration::toSeconds)
                        .toList())
                .isEqualTo(List.of(5L, 10L, 20L, 40L, 80L, 160L, 320L, 640L, 1280L, 2560L, 3600L, 3600L));
    }

    @ParameterizedTest
    @CsvSource({"3, 20, 24", "20, 2880, 3600", "64, 2880, 3600", "99999, 2880, 3600"})
    void differsFromNodeToNode(int failures, int shortest, int longest) {
        var delays = new RetryDelay(SHORTEST, LONGEST, new Random(1));
        assertThat(IntStream.range(0, 100).mapToObj(_ -> delays.after(failures)).distinct())
                .hasSizeGreaterThan(50)
                .allSatisfy(delay ->
                        assertThat(delay).isBetween(Duration.ofSeconds(shortest), Duration.ofSeconds(longest)));
    }
}
