package dev.genv.enforcer.notification;

import static dev.genv.enforcer.enforcement.host.Outcome.DENIED;
import static dev.genv.enforcer.enforcement.host.Outcome.DETACHED;
import static dev.genv.enforcer.enforcement.host.Outcome.SIGNALLED;
import static dev.genv.enforcer.enforcement.host.Outcome.SKIPPED_GRACE;
import static dev.genv.enforcer.notification.NoticeFixture.action;
import static dev.genv.enforcer.notification.NoticeFixture.lastAction;
import static dev.genv.enforcer.notification.NoticeFixture.notice;
import static dev.genv.enforcer.notification.NoticeFixture.opened;
import static dev.genv.enforcer.notification.NoticeFixture.personal;
import static dev.genv.enforcer.notification.NoticeFixture.personalInAudit;
import static dev.genv.enforcer.notification.NoticeFixture.resolved;
import static dev.genv.enforcer.testsupport.builder.GpuProcessBuilder.process;
import static dev.genv.enforcer.testsupport.builder.ViolationBuilder.violationOf;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.tuple;
import static org.junit.jupiter.params.provider.Arguments.arguments;

import dev.genv.enforcer.enforcement.host.Outcome;
import dev.genv.enforcer.enforcement.record.Event.EventContent;
import dev.genv.enforcer.enforcement.record.ViolationRecord.ActionNote;
import dev.genv.enforcer.model.GpuProcess;
import dev.genv.enforcer.model.GpuProcess.Workload;
import dev.genv.enforcer.model.GpuProcess.Workload.Pod;
import dev.genv.enforcer.model.Problem;
import dev.genv.enforcer.model.ProblemCode;
import dev.genv.enforcer.notification.Notice.NoticeKind;
import dev.genv.enforcer.notification.Notice.PersonalNotice;
import dev.genv.enforcer.testsupport.builder.ViolationBuilder;
import dev.genv.enforcer.testsupport.fake.FakeTime;
import java.util.List;
import java.util.Optional;
import java.util.function.Supplier;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.MethodSource;

class NoticeTest {
    @Test
    void otherEventsThanThoseOfViolationsAreNoNotices() {
        assertThat(kind(opened(violationOf(process(812))))).isEqualTo(NoticeKind.OPENED);
        assertThat(kind(resolved(violationOf(process(812))))).isEqualTo(NoticeKind.RESOLVED);
        assertThat(notice(new EventContent.ServiceStarted("1", "audit"))).isEmpty();
        assertThat(notice(new EventContent.ProblemBegan("gpu-1", new Problem(ProblemCode.TIMEOUT, ""))))
                .isEmpty();
    }

    @Test
    void nextReasonToWaitIsNoSecondWarning() {
        var violation = violationOf(process(812)).action(812, SKIPPED_GRACE);
        assertThat(notice(action(violation, 812, SKIPPED_GRACE))).isEmpty();
    }

    @Test
    void anotherProcessOfTheViolationIsWarnedToo() {
        var violation = violationOf(process(812), process(813)).action(812, SKIPPED_GRACE);
        assertThat(kind(action(violation, 813, SKIPPED_GRACE))).isEqualTo(NoticeKind.WARNED);
    }

    @ParameterizedTest
    @EnumSource
    void warningsActionsAndTheirFailuresAreNotices(Outcome outcome) {
        var expected = switch (outcome) {
            case SKIPPED_GRACE -> NoticeKind.WARNED;
            case SIGNALLED, DETACHED, DENIED, FAILED, UNKILLABLE -> NoticeKind.ACTED;
            default -> null;
        };
        assertThat(notice(action(violationOf(process(812)), 812, outcome)).map(Notice::kind))
                .isEqualTo(Optional.ofNullable(expected));
    }

    /** The service does not act on it after the grace period. */
    @Test
    void auditedViolationHasNoWarning() {
        assertThat(notice(action(violationOf(process(812)).audited(), 812, SKIPPED_GRACE)))
                .isEmpty();
    }

    private static NoticeKind kind(EventContent content) {
        return notice(content).orElseThrow().kind();
    }

    /** The uids that are informed of an event. The live pids of the environment a have the uid 1009. */
    static Stream<Arguments> recipients() {
        var two = (Supplier<ViolationBuilder>)
                () -> violationOf(process(812).uid(1003), process(813).uid(1004));
        var pod = new Workload(null, null, new Pod("8b0f6b5e"), null);
        var onDevices = violationOf(
                process(812).uid(1003).inEnvironment("a").uses(2),
                process(813).uid(1004).inEnvironment("a").uses(1),
                process(814).uid(1005).inEnvironment("b").uses(2));
        return Stream.of(
                arguments("a warning", action(two.get(), 812, SKIPPED_GRACE), List.of(1003L)),
                arguments("an action", action(two.get(), 813, SIGNALLED), List.of(1004L)),
                arguments("a failure, which concerns the administrator", action(two.get(), 812, DENIED), List.of()),
                arguments("a user unknown", action(violationOf(process(812).uidUnknown()), 812, SIGNALLED), List.of()),
                arguments(
                        "a process of a pod",
                        action(violationOf(process(812).uid(1003).workload(pod)), 812, SIGNALLED),
                        List.of()),
                arguments(
                        "a detachment: the user of the process on the device, and that of the environment",
                        lastAction(onDevices.action(detachment(DETACHED))),
                        List.of(1003L, 1009L)),
                arguments(
                        "a detachment without a process",
                        lastAction(violationOf().action(detachment(DETACHED))),
                        List.of(1009L)),
                arguments(
                        "a warning without a process",
                        lastAction(violationOf().action(detachment(SKIPPED_GRACE))),
                        List.of(1009L)),
                arguments(
                        "the end of a warned violation without a process",
                        resolved(violationOf().action(detachment(SKIPPED_GRACE))),
                        List.of(1009L)),
                arguments(
                        "a failed detachment", lastAction(violationOf().action(detachment(Outcome.FAILED))), List.of()),
                arguments("a new violation, which a warning or an action follows", opened(two.get()), List.of()),
                arguments(
                        "a new violation in audit mode, if that is not set",
                        opened(two.get().audited()),
                        List.of()),
                arguments(
                        "the end of a warned violation",
                        resolved(two.get().action(812, SKIPPED_GRACE)),
                        List.of(1003L)),
                arguments("the end of a violation without a warning", resolved(two.get()), List.of()),
                arguments(
                        "the end of a violation after an action",
                        resolved(two.get().action(812, SKIPPED_GRACE).action(812, SIGNALLED)),
                        List.of()));
    }

    /** Users are identified by the real uids of processes only. */
    @ParameterizedTest(name = "{0}")
    @MethodSource("recipients")
    void usersOfTheProcessesOrOfTheEnvironmentAreInformed(String name, EventContent content, List<Long> uids) {
        assertThat(personal(content, 1009)).extracting(PersonalNotice::uid).isEqualTo(uids);
    }

    @Test
    void auditedViolationGoesToItsUsersIfThatIsSet() {
        var audited = violationOf(
                process(812).uid(1003), process(813).uid(1004), process(814).uid(1003));
        assertThat(personalInAudit(opened(audited))).isEmpty();
        assertThat(personalInAudit(opened(audited.audited())))
                .extracting(
                        PersonalNotice::uid,
                        notice ->
                                notice.processes().stream().map(GpuProcess::pid).toList())
                .containsExactly(tuple(1003L, List.of(812, 814)), tuple(1004L, List.of(813)));
    }

    private static ActionNote detachment(Outcome outcome) {
        return new ActionNote(
                new ActionNote.TargetAttachment("here", "a", 2), Optional.empty(), FakeTime.START, outcome, null);
    }
}
