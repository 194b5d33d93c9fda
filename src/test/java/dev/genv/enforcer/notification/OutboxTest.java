package dev.genv.enforcer.notification;

import static dev.genv.enforcer.notification.NoticeFixture.action;
import static dev.genv.enforcer.notification.NoticeFixture.onlyPersonal;
import static dev.genv.enforcer.notification.NoticeFixture.personal;
import static dev.genv.enforcer.notification.NoticeFixture.resolved;
import static dev.genv.enforcer.testsupport.builder.GpuProcessBuilder.process;
import static dev.genv.enforcer.testsupport.builder.ViolationBuilder.violationOf;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.genv.enforcer.enforcement.host.Outcome;
import dev.genv.enforcer.enforcement.record.EventLog;
import dev.genv.enforcer.notification.Notice.NoticeKind;
import dev.genv.enforcer.notification.Notice.PersonalNotice;
import dev.genv.enforcer.notification.PersonalDelivery.Batch;
import dev.genv.enforcer.notification.PersonalDelivery.Limits;
import dev.genv.enforcer.notification.PersonalDelivery.MessageSource;
import dev.genv.enforcer.testsupport.builder.ViolationBuilder;
import dev.genv.enforcer.testsupport.fake.FakeTime;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Test;

class OutboxTest {
    private static final Duration DELAY = Duration.ofSeconds(10);

    private final FakeTime time = new FakeTime();
    private final UserDirectory users = new UserDirectory();
    private final PersonalDelivery<String> outbox =
            new PersonalDelivery<>(
                    "test",
                    new MessageSource(users, NoticeFixture.texts(users), false),
                    new Limits(DELAY, 2),
                    time.ticker(),
                    new SimpleMeterRegistry()) {
                @Override
                Optional<String> person(PersonalNotice personal) {
                    if (personal.violation().id().equals("defect")) {
                        throw new IllegalStateException("a defect");
                    }
                    return Optional.of("raz");
                }

                @Override
                Optional<Duration> deliver() {
                    return Optional.empty();
                }
            };

    @Test
    void collectsABurstInOneMessage() {
        outbox.collect("raz", acted("a"));
        time.pass(Duration.ofSeconds(9));
        assertThat(waiting()).isEqualTo(1);
        assertThat(outbox.oldest()).isEqualTo(Duration.ofSeconds(9));
        outbox.collect("raz", acted("b"));
        assertThat(due()).isEmpty();
        assertThat(outbox.untilDue()).contains(Duration.ofSeconds(1));
        time.pass(Duration.ofSeconds(1));
        assertThat(due())
                .singleElement()
                .satisfies(batch -> assertThat(batch.notices()).hasSize(2));
        assertThat(outbox.untilDue()).isEmpty();
        assertThat(waiting()).isZero();
        assertThat(outbox.oldest()).isZero();
    }

    @Test
    void aMessageThatBecomesDueWhileAnotherIsTakenCountsTowardsTheLimit() {
        for (var minute = 0; minute < 3; minute++) {
            time.passTo(Duration.ofMinutes(minute));
            outbox.collect("paul", acted("a"));
            time.pass(Duration.ofSeconds(1));
            outbox.collect("raz", acted("a"));
            time.pass(DELAY);
            assertThat(due()).hasSize(minute < 2 ? 2 : 0);
        }
        time.passTo(Duration.ofSeconds(3_611)); // paul's message is due, and raz's not yet
        outbox.takeDue(_ -> time.passTo(Duration.ofSeconds(3_612)));
        outbox.collect("raz", acted("b"));
        assertThat(outbox.untilDue()).as("an hour after the second one").contains(Duration.ofSeconds(59));
    }

    @Test
    void laterNoticeReplacesTheFormerOneOfTheSameProcess() {
        outbox.collect("raz", warned("a"));
        outbox.collect("raz", acted("a"));
        time.pass(DELAY);
        assertThat(due().getFirst().notices())
                .singleElement()
                .satisfies(notice -> assertThat(notice.notice().kind()).isEqualTo(NoticeKind.ACTED));
    }

    @Test
    void violationThatEndsBeforeTheWarningIsSentLeavesNothing() {
        outbox.collect("raz", warned("a"));
        outbox.collect("raz", ended("a"));
        time.pass(DELAY);
        assertThat(due()).isEmpty();
        assertThat(outbox.untilDue()).isEmpty();
    }

    @Test
    void endIsSentIfTheWarningWasSent() {
        outbox.collect("raz", warned("a"));
        time.pass(DELAY);
        due();
        outbox.collect("raz", ended("a"));
        time.pass(DELAY);
        assertThat(due()).hasSize(1);
    }

    @Test
    void furtherMessagesOfTheHourWaitAndAreCombined() {
        send("raz", "a");
        time.pass(Duration.ofMinutes(10));
        send("raz", "b");
        outbox.collect("raz", acted("c"));
        time.pass(Duration.ofMinutes(30));
        outbox.collect("raz", acted("d"));
        assertThat(due()).isEmpty();
        assertThat(outbox.untilDue()).contains(Duration.ofMinutes(20).minus(DELAY));
        time.pass(Duration.ofMinutes(20).minus(DELAY));
        assertThat(due())
                .singleElement()
                .satisfies(batch -> assertThat(batch.notices()).hasSize(2));
    }

    @Test
    void limitOfOnePersonDelaysNobodyElse() {
        send("raz", "a");
        send("raz", "b");
        outbox.collect("paul", acted("c"));
        time.pass(DELAY);
        assertThat(due()).extracting(Batch::person).containsExactly("paul");
    }

    @Test
    void noticesAreBoundedAndTheRestIsCounted() {
        for (var i = 0; i < 100_000; i++) {
            outbox.collect("raz", acted("id-" + i));
        }
        time.pass(DELAY);
        assertThat(waiting()).isEqualTo(100_000);
        assertThat(due()).singleElement().satisfies(batch -> {
            assertThat(batch.notices()).hasSize(50);
            assertThat(batch.omitted()).isEqualTo(99_950);
        });
    }

    @Test
    void personsAreBounded() {
        for (var i = 0; i < 200; i++) {
            outbox.collect("user-" + i, acted("a"));
        }
        assertThat(outbox.dropped.count()).isZero();
        outbox.collect("one-more", acted("a"));
        assertThat(outbox.dropped.count()).isEqualTo(1);
        outbox.collect("user-7", acted("b"));
        assertThat(outbox.dropped.count()).isEqualTo(1);
        assertThat(waiting()).isEqualTo(201);
    }

    /** A defect that concerns one event must not hold back the later ones. */
    @Test
    void eventThatFailsIsNotReadAgain() throws InterruptedException {
        users.setCurrentUpTo(Long.MAX_VALUE);
        var log = new EventLog();
        outbox.begin(log);
        for (var id : List.of("defect", "b")) {
            log.append(FakeTime.START, List.of(action(violation(id), 812, Outcome.SIGNALLED)));
        }
        assertThatThrownBy(() -> outbox.run(log)).hasMessage("a defect");
        outbox.run(log);
        time.pass(DELAY);
        assertThat(due())
                .singleElement()
                .satisfies(batch -> assertThat(batch.notices())
                        .extracting(notice -> notice.violation().id())
                        .containsExactly("b"));
    }

    /** A defect that concerns one message must not lose the others. */
    @Test
    void messagesAfterOneThatFailsRemain() {
        outbox.collect("raz", acted("a"));
        outbox.collect("paul", acted("a"));
        time.pass(DELAY);
        assertThatThrownBy(() -> outbox.takeDue(_ -> {
                    throw new IllegalStateException("a defect");
                }))
                .hasMessage("a defect");
        assertThat(outbox.isDue()).isTrue();
        assertThat(due()).extracting(Batch::person).containsExactly("paul");
        assertThat(outbox.isDue()).isFalse();
    }

    private List<Batch<String>> due() {
        var due = new ArrayList<Batch<String>>();
        outbox.takeDue(due::add);
        return due;
    }

    private long waiting() {
        outbox.showWaiting();
        return outbox.waiting();
    }

    private void send(String person, String violation) {
        outbox.collect(person, acted(violation));
        time.pass(DELAY);
        assertThat(due()).hasSize(1);
    }

    private static PersonalNotice warned(String id) {
        return onlyPersonal(action(violation(id), 812, Outcome.SKIPPED_GRACE));
    }

    private static PersonalNotice acted(String id) {
        return onlyPersonal(action(violation(id), 812, Outcome.SIGNALLED));
    }

    private static PersonalNotice ended(String id) {
        return onlyPersonal(resolved(violation(id).action(812, Outcome.SKIPPED_GRACE)));
    }

    private static ViolationBuilder violation(String id) {
        return violationOf(process(812).uid(1003)).id(id);
    }
}
