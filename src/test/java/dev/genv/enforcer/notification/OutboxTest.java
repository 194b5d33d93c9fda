package dev.genv.enforcer.notification;

import static dev.genv.enforcer.notification.NoticeFixture.action;
import static dev.genv.enforcer.notification.NoticeFixture.resolved;
import static dev.genv.enforcer.testsupport.builder.GpuProcessBuilder.process;
import static dev.genv.enforcer.testsupport.builder.ViolationBuilder.violationOf;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.tuple;
import static org.awaitility.Awaitility.await;

import dev.genv.enforcer.enforcement.host.Outcome;
import dev.genv.enforcer.enforcement.report.DeliveryCursors;
import dev.genv.enforcer.enforcement.report.Event.EventContent;
import dev.genv.enforcer.enforcement.report.EventLog;
import dev.genv.enforcer.notification.Notice.NoticeKind;
import dev.genv.enforcer.notification.Sender.Limits;
import dev.genv.enforcer.notification.Sender.Message;
import dev.genv.enforcer.notification.Sender.Recipients;
import dev.genv.enforcer.notification.Sender.Reply;
import dev.genv.enforcer.notification.Sender.ReplyKind;
import dev.genv.enforcer.testsupport.builder.ViolationBuilder;
import dev.genv.enforcer.testsupport.fake.FakeTime;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Random;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** When messages are sent, in which order, how often, and when they are given up. */
class OutboxTest {
    private static final Duration COLLECTED = Duration.ofSeconds(10);
    private static final Duration DAY = Duration.ofDays(1);
    private static final Limits EVERY_EVENT = Limits.ofEveryEvent();
    private static final Reply FAILED = Reply.failed("it is away");
    private static final Reply REFUSED = new Reply(ReplyKind.REFUSED, "it is too large");

    private final FakeTime time = new FakeTime();
    private final EventLog log = new EventLog();
    private final List<Message> sent = new CopyOnWriteArrayList<>();
    private DeliveryCursors cursors = new DeliveryCursors();
    private Limits limits = Limits.ofUsers(COLLECTED, 2);
    private Answer answer = _ -> Reply.ACCEPTED;
    private Outbox outbox = outbox();

    private interface Answer {
        Reply to(Message message) throws InterruptedException;
    }

    /** Sends what concerns the violation raz-1 to raz. */
    private record TestSender(OutboxTest test, Limits limits) implements Sender {
        @Override
        public String name() {
            return "test";
        }

        @Override
        public Recipients recipients(Notice notice) {
            if (notice.violation().id().equals("unreadable")) {
                throw new IllegalStateException("a defect");
            }
            var recipient =
                    limits.everyEvent() ? notice.id() : notice.violation().id().split("-", -1)[0];
            if (recipient.equals("nameless") && !test.isNameKnown) {
                return new Recipients(Map.of(), Map.of(1003L, notice));
            }
            return Recipients.of(Map.of(recipient, notice));
        }

        @Override
        public Recipients recipients(long uid, Notice personal) {
            return recipients(personal);
        }

        @Override
        public Reply send(Message message) throws InterruptedException {
            test.sent.add(message);
            return test.answer.to(message);
        }
    }

    private boolean isNameKnown;

    private Outbox outbox() {
        var created =
                new Outbox(new TestSender(this, limits), cursors, time.ticker(), () -> 0, new SimpleMeterRegistry());
        created.begin(log);
        return created;
    }

    private void deliverEveryEvent() {
        limits = EVERY_EVENT;
        outbox = outbox();
    }

    @Test
    void burstIsOneMessageForEachRecipient() throws Exception {
        act("raz-1", "paul-1");
        assertThat(outbox.run(log)).isEqualTo(COLLECTED);
        time.pass(Duration.ofSeconds(9));
        act("raz-2");
        assertThat(outbox.run(log)).isEqualTo(Duration.ofSeconds(1));
        assertThat(sent).isEmpty();
        assertThat(outbox.waiting()).isEqualTo(3);
        assertThat(outbox.oldest()).isEqualTo(Duration.ofSeconds(9));

        pass(Duration.ofSeconds(1));

        assertThat(sent)
                .extracting(message -> message.notices().stream()
                        .map(notice -> notice.violation().id())
                        .toList())
                .containsExactly(List.of("raz-1", "raz-2"), List.of("paul-1"));
        assertThat(outbox.sent.count()).isEqualTo(2);
        assertThat(outbox.waiting()).isZero();
        assertThat(outbox.oldest()).isZero();
    }

    @Test
    void laterNoticeReplacesTheFormerOneOfTheSameProcessUnlessThatWasSent() throws Exception {
        warn("raz-1");
        act("raz-1");
        collectAndSend();
        assertThat(sent.getFirst().notices()).extracting(Notice::kind).containsExactly(NoticeKind.ACTED);

        warn("paul-1");
        end("paul-1");
        collectAndSend();
        assertThat(sent).as("nothing is left").hasSize(1);

        warn("eve-1");
        collectAndSend();
        end("eve-1");
        collectAndSend();
        assertThat(recipients()).containsExactly("raz", "eve", "eve");
    }

    /** A server may refuse the first attempts, and the grace period is shorter than the time until the next one. */
    @Test
    void warningThatWasNotAcceptedYetBecomesTheMessageAboutWhatHappened() throws Exception {
        answer = _ -> FAILED;
        warn("raz-1");
        warn("raz-2");
        warn("paul-1");
        collectAndSend();
        act("raz-1");
        end("raz-2");
        end("paul-1");
        answer = _ -> Reply.ACCEPTED;
        sent.clear();
        pass(Duration.ofMinutes(1));
        pass(Duration.ofMinutes(1));
        assertThat(sent).hasSize(1);
        assertThat(sent.getFirst().notices())
                .extracting(notice -> notice.violation().id(), Notice::kind)
                .containsExactly(tuple("raz-1", NoticeKind.ACTED));
    }

    @Test
    void copyThatIsNotSentIsAProblemUntilAMessageIsAcceptedForAll() throws Exception {
        answer = _ -> new Reply(ReplyKind.ACCEPTED, "the copy was not sent");
        act("raz-1");
        collectAndSend();
        assertThat(outbox.problem()).contains("the copy was not sent");
        assertThat(outbox.sent.count()).isEqualTo(1);
        answer = _ -> Reply.ACCEPTED;
        act("raz-2");
        collectAndSend();
        assertThat(outbox.problem()).isEmpty();
    }

    /** As at the start of the service, and for a process that was terminated at once. */
    @Test
    void noticeWaitsForTheNameOfItsUser() throws Exception {
        act("nameless-1", "nameless-2", "raz-1");
        assertThat(outbox.run(log)).as("looks for the name again").isEqualTo(Duration.ofSeconds(5));
        collectAndSend();
        assertThat(recipients()).containsExactly("raz");
        time.pass(Outbox.LONGEST_PENDING.minus(COLLECTED).minusSeconds(1));
        assertThat(outbox.run(log)).isEqualTo(Duration.ofSeconds(5));
        isNameKnown = true;
        outbox.run(log);
        collectAndSend();
        assertThat(recipients()).containsExactly("raz", "nameless");
        assertThat(sent.getLast().notices()).hasSize(2);
        assertThat(outbox.run(log)).isEqualTo(Outbox.IDLE);
    }

    @Test
    void noticeWithoutANameForTooLongIsForNobody() throws Exception {
        act("nameless-1");
        outbox.run(log);
        time.pass(Outbox.LONGEST_PENDING);
        isNameKnown = true;
        assertThat(outbox.run(log)).isEqualTo(Outbox.IDLE);
        assertThat(sent).isEmpty();
    }

    @Test
    void violationThatIsOverBeforeTheNameIsKnownLeavesNoWarning() throws Exception {
        warn("nameless-1");
        end("nameless-1");
        outbox.run(log);
        isNameKnown = true;
        outbox.run(log);
        collectAndSend();
        assertThat(sent).isEmpty();
    }

    @Test
    void furtherMessagesOfTheHourWaitAndAreCombinedAndDelayNobodyElse() throws Exception {
        act("raz-1");
        collectAndSend();
        time.pass(Duration.ofMinutes(10));
        act("raz-2");
        collectAndSend();
        act("raz-3", "paul-1");
        collectAndSend();
        assertThat(recipients()).containsExactly("raz", "raz", "paul");
        act("raz-4");
        assertThat(outbox.run(log))
                .isEqualTo(Duration.ofMinutes(50).minus(COLLECTED).minus(COLLECTED));
        pass(Duration.ofMinutes(50));
        assertThat(sent.getLast().notices()).hasSize(2);
        act("raz-5");
        assertThat(outbox.run(log)).as("an hour after the second one").isEqualTo(Duration.ofSeconds(590));
    }

    @Test
    void noticesOfAMessageAreBoundedAndTheRestIsCounted() throws Exception {
        for (var i = 0; i < 1_000; i++) {
            act("raz-" + i);
        }
        outbox.run(log);
        assertThat(outbox.waiting()).isEqualTo(1_000);
        collectAndSend();
        assertThat(sent.getFirst().notices()).hasSize(50);
        assertThat(sent.getFirst().omitted()).isEqualTo(950);
    }

    /** The events wait in their log, which is bounded. */
    @Test
    void noEventIsReadWhileManyMessagesWait() throws Exception {
        answer = _ -> FAILED;
        for (var i = 0; i < 300; i++) {
            act("user%d-1".formatted(i));
        }
        collectAndSend();
        assertThat(sent).hasSize(Outbox.MOST_WAITING);
        assertThat(outbox.waiting()).isEqualTo(300);
        answer = _ -> Reply.ACCEPTED;
        time.pass(Duration.ofHours(1));
        collectAndSend();
        collectAndSend();
        assertThat(outbox.sent.count()).isEqualTo(300);
    }

    /** A defect that concerns one event must not hold back the later ones. */
    @Test
    void eventThatFailsIsNotReadAgain() throws Exception {
        act("unreadable", "raz-1");
        assertThatThrownBy(() -> outbox.run(log)).hasMessage("a defect");
        collectAndSend();
        assertThat(recipients()).containsExactly("raz");
    }

    /** A defect that concerns one message must not lose the others. */
    @Test
    void messageThatCannotBeWrittenIsGivenUpAndTheOthersAreSent() throws Exception {
        answer = message -> {
            if (message.recipient().equals("raz")) {
                throw new IllegalStateException("a defect");
            }
            return Reply.ACCEPTED;
        };
        act("raz-1", "paul-1");
        collectAndSend();
        assertThat(recipients()).containsExactly("raz", "paul");
        assertThat(outbox.failed.count()).isEqualTo(1);
        assertThat(outbox.waiting()).isZero();
    }

    @Test
    void failedMessageIsTriedAgainWithGrowingPausesUntilItIsTooOldAndTheThirdFailureIsAProblem() throws Exception {
        answer = message -> message.recipient().equals("raz") ? FAILED : Reply.ACCEPTED;
        act("raz-1");
        outbox.run(log);
        time.pass(COLLECTED);
        for (var pause : List.of(30, 60, 120)) {
            assertThat(outbox.problem()).isEmpty();
            assertThat(outbox.run(log)).isEqualTo(Duration.ofSeconds(pause));
            time.pass(Duration.ofSeconds(pause));
        }
        assertThat(outbox.problem()).contains("it is away");
        assertThat(outbox.retried.count()).isEqualTo(3);
        act("paul-1");
        collectAndSend();
        assertThat(outbox.sent.count()).as("it delays no other one").isEqualTo(1);
        assertThat(outbox.problem()).isEmpty();
        for (var i = 0; i < 30; i++) {
            pass(Duration.ofMinutes(15));
        }
        assertThat(outbox.failed.count()).isEqualTo(1);
        assertThat(outbox.waiting()).isZero();
    }

    @Test
    void messageThatIsRefusedOrThatNobodyCanGetIsNotTriedAgain() throws Exception {
        answer = message -> message.recipient().equals("raz") ? REFUSED : new Reply(ReplyKind.NOBODY, "");
        act("raz-1", "paul-1");
        collectAndSend();
        assertThat(outbox.failed.count()).isEqualTo(1);
        assertThat(outbox.sent.count() + outbox.retried.count()).isZero();
        assertThat(outbox.waiting()).isZero();
    }

    @Test
    void everyEventIsSentInItsOrderAndOnceAndBeginsWithTheNextOne() throws Exception {
        act("before");
        deliverEveryEvent();
        act("a", "b");
        outbox.run(log);
        act("c");
        outbox.run(log);
        assertThat(recipients()).containsExactly("a-2", "b-3", "c-4");
        assertThat(outbox.sent.count()).isEqualTo(3);
        assertThat(outbox.waiting()).isZero();
    }

    /** The database was removed, and the events are numbered from 1 again. */
    @Test
    void cursorAheadOfTheLogLosesNoNewEvent() throws Exception {
        cursors.store("test", 1_000);
        deliverEveryEvent();
        act("a");
        outbox.run(log);
        assertThat(recipients()).containsExactly("a-1");
    }

    @Test
    void eventsThatAreNoLongerInMemoryAreCounted() throws Exception {
        deliverEveryEvent();
        answer = _ -> FAILED;
        act("a", "b");
        outbox.run(log);
        for (var i = 0; i < EventLog.MAX_EVENTS + 2; i++) {
            appendOther();
        }
        answer = _ -> Reply.ACCEPTED;
        act("z");
        pass(Duration.ofSeconds(5));
        assertThat(outbox.dropped.count()).as("the oldest of the largest share").isEqualTo(5);
        assertThat(recipients()).containsExactly("a-1", "a-1", "b-2", "z-" + (EventLog.MAX_EVENTS + 5));
    }

    /** The receiver did not accept the first event before the service was restarted. */
    @Test
    void restartBeforeTheFirstAcceptedEventLosesNone() throws Exception {
        deliverEveryEvent();
        answer = _ -> FAILED;
        act("a", "b");
        outbox.run(log);
        answer = _ -> Reply.ACCEPTED;
        restart();
        assertThat(recipients()).containsExactly("a-1", "a-1", "b-2");
    }

    /** They would be counted as lost if the position stayed before them until there are more than the memory has. */
    @Test
    void eventsWithoutAMessageAreNotLostAtARestart() throws Exception {
        deliverEveryEvent();
        for (var i = 0; i <= EventLog.MAX_EVENTS; i++) {
            appendOther();
        }
        outbox.run(log);
        appendOther();
        restart();
        assertThat(outbox.dropped.count()).isZero();
    }

    /** Begins another run of the service, which knows only what the database has. */
    private void restart() throws InterruptedException {
        var saved = cursors.save();
        cursors = new DeliveryCursors();
        cursors.restore(saved);
        outbox = outbox();
        outbox.run(log);
    }

    @Test
    void failedEventIsRepeatedWithGrowingPausesAndNoOtherOvertakesIt() throws Exception {
        deliverEveryEvent();
        answer = _ -> FAILED;
        act("a", "b");
        assertThat(outbox.run(log)).isEqualTo(Duration.ofSeconds(5));
        time.pass(Duration.ofSeconds(4));
        assertThat(outbox.run(log)).isEqualTo(Duration.ofSeconds(1));
        time.pass(Duration.ofSeconds(1));
        assertThat(outbox.run(log)).isEqualTo(Duration.ofSeconds(10));
        answer = _ -> Reply.ACCEPTED;
        pass(Duration.ofSeconds(10));
        assertThat(recipients()).containsExactly("a-1", "a-1", "a-1", "b-2");
        assertThat(outbox.retried.count()).isEqualTo(2);
    }

    /** Not earlier than the service would try by itself. */
    @ParameterizedTest
    @CsvSource({"120, 120", "0, 5"})
    void receiverSaysWhenToTryAgain(int asked, int pause) throws Exception {
        deliverEveryEvent();
        answer = _ -> new Reply(ReplyKind.FAILED, "it is busy", Optional.of(Duration.ofSeconds(asked)));
        act("a");
        assertThat(outbox.run(log)).isEqualTo(Duration.ofSeconds(pause));
    }

    @Test
    void goneReceiverGetsNothingUntilTheServiceIsRestarted() throws Exception {
        deliverEveryEvent();
        answer = _ -> new Reply(ReplyKind.GONE, "it is gone");
        act("a");
        outbox.run(log);
        answer = _ -> Reply.ACCEPTED;
        act("b");
        pass(Duration.ofDays(2));
        assertThat(recipients()).containsExactly("a-1");
        assertThat(outbox.problem()).contains("it is gone; a restart of the service tries again");
        assertThat(outbox.failed.count()).isEqualTo(1);
        assertThat(outbox.waiting()).isEqualTo(2);
        restart();
        assertThat(recipients()).containsExactly("a-1", "a-1", "b-2");
    }

    /** Otherwise a receiver that was away for a week would first get the events of that week. */
    @Test
    void eventsOfADayAgoAreGivenUpWithoutFurtherAttempts() throws Exception {
        deliverEveryEvent();
        answer = _ -> FAILED;
        act("a", "b");
        outbox.run(log);
        time.pass(DAY);
        act("c");
        outbox.run(log);
        assertThat(recipients()).containsExactly("a-1", "c-3");
        assertThat(outbox.failed.count()).isEqualTo(2);
        assertThat(outbox.waiting()).isEqualTo(1);
    }

    /**
     * Otherwise the receiver gets nothing for a day because of one event. A receiver that expects another format must not get each event at
     * once, so the pauses grow.
     */
    @Test
    void eventThatTheReceiverRefusesIsGivenUpAfterThreeAttemptsWithGrowingPauses() throws Exception {
        deliverEveryEvent();
        answer = _ -> REFUSED;
        act("a", "b", "c");
        for (var pause : List.of(5, 10, 20, 40, 80, 160, 320)) {
            assertThat(outbox.run(log)).isEqualTo(Duration.ofSeconds(pause));
            time.pass(Duration.ofSeconds(pause));
        }
        assertThat(recipients()).containsExactly("a-1", "a-1", "a-1", "b-2", "b-2", "b-2", "c-3");
        assertThat(outbox.failed.count()).isEqualTo(2);
        assertThat(outbox.retried.count()).isEqualTo(5);
        assertThat(outbox.problem()).contains("it is too large");

        answer = _ -> Reply.ACCEPTED;
        sent.clear();
        restart();
        assertThat(recipients()).containsExactly("c-3");
    }

    /** Another answer is one of the receiver as a whole, for example while it is restarted. */
    @Test
    void otherFailuresAreNoRefusals() throws Exception {
        deliverEveryEvent();
        act("a");
        for (var reply : List.of(REFUSED, FAILED, FAILED, FAILED, REFUSED, FAILED)) {
            answer = _ -> reply;
            outbox.run(log);
            time.pass(Duration.ofHours(1));
        }
        answer = _ -> Reply.ACCEPTED;
        outbox.run(log);
        assertThat(outbox.failed.count()).isZero();
        assertThat(outbox.sent.count()).isEqualTo(1);
    }

    /** The cycle appends events. */
    @Test
    void appendingNeverWaitsForAReceiverThatHangs() {
        deliverEveryEvent();
        var interrupted = new CountDownLatch(1);
        answer = _ -> {
            try {
                Thread.sleep(DAY);
                return Reply.ACCEPTED;
            } catch (InterruptedException e) {
                interrupted.countDown();
                throw e;
            }
        };
        try (var _ = outbox.start(log)) {
            act("a");
            await().until(() -> sent.size() == 1);
            for (var i = 0; i < 100_000; i++) {
                appendOther();
            }
            assertThat(log.latest()).isEqualTo(100_001);
            assertThat(interrupted.getCount()).isEqualTo(1);
        }
        await().until(() -> interrupted.getCount() == 0);
    }

    /** Other kinds of deliveries have threads of their own. */
    @Test
    void defectIsCountedAndAProblemWhileItIsRepeated() {
        limits = new Limits(Duration.ZERO, 60, Duration.ofMillis(50), Duration.ofSeconds(1), DAY, 3, true);
        outbox = outbox();
        var works = new AtomicBoolean();
        answer = _ -> {
            if (works.get()) {
                return Reply.ACCEPTED;
            }
            throw new StackOverflowError("a \u001b defect");
        };
        act("a");
        try (var _ = outbox.start(log)) {
            await().until(() -> outbox.failed.count() >= 3);
            assertThat(outbox.problem())
                    .contains("an error in the service: java.lang.StackOverflowError: a \\u001b defect");
            works.set(true);
            await().until(() -> outbox.problem().isEmpty());
        }
    }

    @Test
    void newEventsDoNotShortenThePauseAfterADefect() {
        limits = new Limits(Duration.ZERO, 60, DAY, DAY, DAY, 3, true);
        outbox = outbox();
        try (var _ = outbox.start(log)) {
            act("unreadable");
            await().until(() -> outbox.failed.count() == 1);
            act("a");
            await("it sleeps, and does not wait for events").until(() -> isAsleep("delivery-test"));
            assertThat(sent).isEmpty();
        }
    }

    private static boolean isAsleep(String thread) {
        return Thread.getAllStackTraces().entrySet().stream()
                .filter(entry -> entry.getKey().getName().equals(thread))
                .anyMatch(entry -> Arrays.stream(entry.getValue())
                        .anyMatch(frame -> frame.getMethodName().equals("sleep")));
    }

    @ParameterizedTest
    @CsvSource({"3, 20, 24", "20, 2880, 3600", "99999, 2880, 3600"})
    void pauseDiffersFromNodeToNode(int failures, int shortest, int longest) {
        var random = new Random(1);
        assertThat(IntStream.range(0, 100)
                        .mapToObj(_ -> EVERY_EVENT.retryDelay(failures, random))
                        .distinct())
                .hasSizeGreaterThan(50)
                .allSatisfy(delay ->
                        assertThat(delay).isBetween(Duration.ofSeconds(shortest), Duration.ofSeconds(longest)));
    }

    private void pass(Duration duration) throws InterruptedException {
        time.pass(duration);
        outbox.run(log);
    }

    private void collectAndSend() throws InterruptedException {
        outbox.run(log);
        pass(COLLECTED);
    }

    private List<String> recipients() {
        return sent.stream().map(Message::recipient).toList();
    }

    private void act(String... violations) {
        for (var id : violations) {
            append(action(violation(id), 812, Outcome.SIGNALLED));
        }
    }

    private void warn(String id) {
        append(action(violation(id), 812, Outcome.SKIPPED_GRACE));
    }

    private void end(String id) {
        append(resolved(violation(id).action(812, Outcome.SKIPPED_GRACE)));
    }

    /** Appends an event that nobody needs to be informed of. */
    private void appendOther() {
        append(new EventContent.ServiceStarted("1", "audit"));
    }

    private void append(EventContent content) {
        log.append(time.ticker().now(), List.of(content));
    }

    private static ViolationBuilder violation(String id) {
        return violationOf(process(812).uid(1003)).id(id);
    }
}
