package dev.genv.enforcer.notification;

import static dev.genv.enforcer.notification.NoticeFixture.opened;
import static dev.genv.enforcer.testsupport.builder.GpuProcessBuilder.process;
import static dev.genv.enforcer.testsupport.builder.ViolationBuilder.violationOf;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.genv.enforcer.enforcement.delivery.DeliveryFigures;
import dev.genv.enforcer.enforcement.event.EventLog;
import dev.genv.enforcer.testsupport.fake.FakeTime;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;

class DeliveryThreadTest {
    private static final Duration LONG = Duration.ofDays(1);

    private final EventLog log = new EventLog();

    @Test
    void runsAtItsStartAndAfterEachEvent() {
        var runs = new AtomicInteger();
        try (var _ = DeliveryThread.start(new Task(_ -> runs.incrementAndGet()), log)) {
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
        try (var _ = DeliveryThread.start(
                new Task(_ -> {
                    entered.countDown();
                    try {
                        Thread.sleep(LONG);
                    } catch (InterruptedException e) {
                        interrupted.countDown();
                        throw e;
                    }
                }),
                log)) {
            await().until(() -> entered.getCount() == 0);
            for (var i = 0; i < 100_000; i++) {
                append();
            }
            assertThat(log.latest()).isEqualTo(100_000);
            assertThat(interrupted.getCount()).isEqualTo(1);
        }
        await().until(() -> interrupted.getCount() == 0);
    }

    private void append() {
        log.append(FakeTime.START, List.of(opened(violationOf(process(812)))));
    }

    @Test
    void positionIsSetBeforeTheFirstRun() {
        append();
        var position = new AtomicLong(-1);
        var seen = new AtomicLong(-1);
        var delivery = new Delivery() {
            @Override
            public String name() {
                return "test";
            }

            @Override
            public void begin(EventLog events) {
                position.set(events.latest());
            }

            @Override
            public Duration run(EventLog events) {
                seen.set(position.get());
                return LONG;
            }

            @Override
            public DeliveryFigures figures() {
                return new DeliveryFigures(0, 0, 0, 0, 0, Duration.ZERO);
            }

            @Override
            public Optional<String> problem() {
                return Optional.empty();
            }
        };
        try (var _ = DeliveryThread.start(delivery, log)) {
            await().until(() -> seen.get() >= 0);
            assertThat(seen).hasValue(1);
        }
    }

    private interface Work {
        void run(EventLog log) throws InterruptedException;
    }

    private record Task(Work work) implements Delivery {
        @Override
        public String name() {
            return "test";
        }

        @Override
        public void begin(EventLog log) {}

        @Override
        public Duration run(EventLog log) throws InterruptedException {
            work.run(log);
            return LONG;
        }

        @Override
        public DeliveryFigures figures() {
            return new DeliveryFigures(0, 0, 0, 0, 0, Duration.ZERO);
        }

        @Override
        public Optional<String> problem() {
            return Optional.empty();
        }
    }
}
