package dev.genv.enforcer.notification;

import static dev.genv.enforcer.notification.NoticeFixture.action;
import static dev.genv.enforcer.notification.NoticeFixture.personal;
import static dev.genv.enforcer.notification.NoticeFixture.resolved;
import static dev.genv.enforcer.testsupport.builder.GpuProcessBuilder.process;
import static dev.genv.enforcer.testsupport.builder.ViolationBuilder.violationOf;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.genv.enforcer.enforcement.host.Outcome;
import dev.genv.enforcer.notification.Notice.NoticeKind;
import dev.genv.enforcer.notification.Notice.PersonalNotice;
import dev.genv.enforcer.notification.PersonalDelivery.Limits;
import dev.genv.enforcer.notification.PersonalDelivery.Outbox;
import dev.genv.enforcer.testsupport.builder.ViolationBuilder;
import dev.genv.enforcer.testsupport.fake.FakeTime;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

class OutboxTest {
    private static final Duration DELAY = Duration.ofSeconds(10);

    private final FakeTime time = new FakeTime();
    private final Outbox<String> outbox = new Outbox<>(new Limits(DELAY, 2), time.ticker());

    @Test
    void collectsABurstInOneMessage() {
        outbox.add("raz", acted("a"));
        time.pass(Duration.ofSeconds(9));
        outbox.add("raz", acted("b"));
        assertThat(due()).isEmpty();
        assertThat(outbox.untilDue()).contains(Duration.ofSeconds(1));
        time.pass(Duration.ofSeconds(1));
        assertThat(due())
                .singleElement()
                .satisfies(batch -> assertThat(batch.notices()).hasSize(2));
        assertThat(outbox.untilDue()).isEmpty();
        assertThat(outbox.size()).isZero();
    }

    @Test
    void eachPersonHasAMessage() {
        outbox.add("raz", acted("a"));
        outbox.add("paul", acted("a"));
        time.pass(DELAY);
        assertThat(due()).extracting(Outbox.Batch::person).containsExactly("raz", "paul");
    }

    @Test
    void laterNoticeReplacesTheFormerOneOfTheSameProcess() {
        outbox.add("raz", warned("a"));
        outbox.add("raz", acted("a"));
        time.pass(DELAY);
        assertThat(due().getFirst().notices())
                .singleElement()
                .satisfies(notice -> assertThat(notice.notice().kind()).isEqualTo(NoticeKind.ACTED));
    }

    @Test
    void violationThatEndsBeforeTheWarningIsSentLeavesNothing() {
        outbox.add("raz", warned("a"));
        outbox.add("raz", ended("a"));
        time.pass(DELAY);
        assertThat(due()).isEmpty();
        assertThat(outbox.untilDue()).isEmpty();
    }

    @Test
    void endIsSentIfTheWarningWasSent() {
        outbox.add("raz", warned("a"));
        time.pass(DELAY);
        due();
        outbox.add("raz", ended("a"));
        time.pass(DELAY);
        assertThat(due()).hasSize(1);
    }

    @Test
    void furtherMessagesOfTheHourWaitAndAreCombined() {
        send("raz", "a");
        time.pass(Duration.ofMinutes(10));
        send("raz", "b");
        outbox.add("raz", acted("c"));
        time.pass(Duration.ofMinutes(30));
        outbox.add("raz", acted("d"));
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
        outbox.add("paul", acted("c"));
        time.pass(DELAY);
        assertThat(due()).extracting(Outbox.Batch::person).containsExactly("paul");
    }

    @Test
    void noticesAreBoundedAndTheRestIsCounted() {
        for (var i = 0; i < 100_000; i++) {
            outbox.add("raz", acted("id-" + i));
        }
        time.pass(DELAY);
        assertThat(outbox.size()).isEqualTo(100_000);
        assertThat(due()).singleElement().satisfies(batch -> {
            assertThat(batch.notices()).hasSize(10);
            assertThat(batch.omitted()).isEqualTo(99_990);
        });
    }

    @Test
    void personsAreBounded() {
        for (var i = 0; i < 200; i++) {
            assertThat(outbox.add("user-" + i, acted("a"))).isTrue();
        }
        assertThat(outbox.add("one-more", acted("a"))).isFalse();
        assertThat(outbox.add("user-7", acted("b"))).isTrue();
    }

    @Test
    void oldestIsTheFirstThatWaits() {
        assertThat(outbox.oldest()).isEmpty();
        outbox.add("raz", acted("a"));
        assertThat(outbox.oldest()).contains(FakeTime.START);
    }

    /** A defect that concerns one message must not lose the others. */
    @Test
    void messagesAfterOneThatFailsRemain() {
        outbox.add("raz", acted("a"));
        outbox.add("paul", acted("a"));
        time.pass(DELAY);
        assertThatThrownBy(() -> outbox.takeDue(_ -> {
                    throw new IllegalStateException("a defect");
                }))
                .hasMessage("a defect");
        assertThat(outbox.isDue()).isTrue();
        assertThat(due()).extracting(Outbox.Batch::person).containsExactly("paul");
        assertThat(outbox.isDue()).isFalse();
    }

    private List<Outbox.Batch<String>> due() {
        var due = new ArrayList<Outbox.Batch<String>>();
        outbox.takeDue(due::add);
        return due;
    }

    private void send(String person, String violation) {
        outbox.add(person, acted(violation));
        time.pass(DELAY);
        assertThat(due()).hasSize(1);
    }

    private static PersonalNotice warned(String id) {
        return only(personal(action(violation(id), 812, Outcome.SKIPPED_GRACE)));
    }

    private static PersonalNotice acted(String id) {
        return only(personal(action(violation(id), 812, Outcome.SIGNALLED)));
    }

    private static PersonalNotice ended(String id) {
        return only(personal(resolved(violation(id).action(812, Outcome.SKIPPED_GRACE))));
    }

    private static ViolationBuilder violation(String id) {
        return violationOf(process(812).uid(1003)).id(id);
    }

    private static PersonalNotice only(List<PersonalNotice> notices) {
        assertThat(notices).hasSize(1);
        return notices.getFirst();
    }
}
