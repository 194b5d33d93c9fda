package dev.genv.enforcer.notification;

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

import dev.genv.enforcer.enforcement.host.Outcome;
import dev.genv.enforcer.enforcement.record.Event.EventContent;
import dev.genv.enforcer.enforcement.record.ViolationRecord.ActionNote;
import dev.genv.enforcer.model.GpuProcess.Workload;
import dev.genv.enforcer.model.GpuProcess.Workload.Pod;
import dev.genv.enforcer.model.Problem;
import dev.genv.enforcer.model.ProblemCode;
import dev.genv.enforcer.notification.Notice.NoticeKind;
import dev.genv.enforcer.notification.Notice.PersonalNotice;
import dev.genv.enforcer.testsupport.fake.FakeTime;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

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
        var violation = violationOf(process(812)).action(812, Outcome.SKIPPED_GRACE);
        assertThat(notice(action(violation, 812, Outcome.SKIPPED_GRACE))).isEmpty();
    }

    @Test
    void anotherProcessOfTheViolationIsWarnedToo() {
        var violation = violationOf(process(812), process(813)).action(812, Outcome.SKIPPED_GRACE);
        assertThat(kind(action(violation, 813, Outcome.SKIPPED_GRACE))).isEqualTo(NoticeKind.WARNED);
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
        assertThat(notice(action(violationOf(process(812)).audited(), 812, Outcome.SKIPPED_GRACE)))
                .isEmpty();
    }

    private static NoticeKind kind(EventContent content) {
        return notice(content).orElseThrow().kind();
    }

    @Test
    void warningGoesToTheUserOfTheProcess() {
        var violation = violationOf(process(812).uid(1003), process(813).uid(1004));
        assertThat(personal(action(violation, 812, Outcome.SKIPPED_GRACE)))
                .singleElement()
                .satisfies(notice -> {
                    assertThat(notice.uid()).isEqualTo(1003);
                    assertThat(notice.processes())
                            .extracting(each -> each.pid())
                            .containsExactly(812);
                });
    }

    /** A failure is the administrator's concern. */
    @Test
    void failedActionGoesToNoUser() {
        assertThat(personal(action(violationOf(process(812).uid(1003)), 812, Outcome.DENIED)))
                .isEmpty();
    }

    @Test
    void detachmentGoesToTheUsersOfTheProcessesOnThatDevice() {
        var violation = violationOf(
                process(812).uid(1003).inEnvironment("a").uses(2),
                process(813).uid(1004).inEnvironment("a").uses(1),
                process(814).uid(1005).inEnvironment("b").uses(2));
        assertThat(uids(personal(lastAction(violation.action(detachment(Outcome.DETACHED))))))
                .containsExactly(1003L);
    }

    @Test
    void warningAndDetachmentWithoutAProcessGoToTheUserOfTheEnvironment() {
        for (var outcome : List.of(Outcome.SKIPPED_GRACE, Outcome.DETACHED)) {
            assertThat(personal(lastAction(violationOf().action(detachment(outcome))), 1003))
                    .containsExactly(new PersonalNotice(
                            notice(lastAction(violationOf().action(detachment(outcome))))
                                    .orElseThrow(),
                            1003,
                            List.of()));
        }
        assertThat(uids(personal(resolved(violationOf().action(detachment(Outcome.SKIPPED_GRACE))), 1003)))
                .containsExactly(1003L);
        assertThat(personal(lastAction(violationOf().action(detachment(Outcome.FAILED))), 1003))
                .isEmpty();
    }

    private static ActionNote detachment(Outcome outcome) {
        return new ActionNote(
                new ActionNote.TargetAttachment("here", "a", 2), Optional.empty(), FakeTime.START, outcome, null);
    }

    @Test
    void processOfUnknownUserOrOfAPodHasNoNotice() {
        var pod = new Workload(null, null, new Pod("8b0f6b5e"), null);
        for (var process :
                List.of(process(812).uidUnknown(), process(812).uid(1003).workload(pod))) {
            assertThat(personal(action(violationOf(process), 812, Outcome.SIGNALLED)))
                    .isEmpty();
        }
    }

    @Test
    void newViolationGoesToNoUserBecauseAWarningOrAnActionFollows() {
        assertThat(personal(opened(violationOf(process(812).uid(1003))))).isEmpty();
        assertThat(personalInAudit(opened(violationOf(process(812).uid(1003))))).isEmpty();
    }

    @Test
    void auditedViolationGoesToItsUsersOnlyIfThatIsSet() {
        EventContent audited = opened(violationOf(
                        process(812).uid(1003),
                        process(813).uid(1004),
                        process(814).uid(1003))
                .audited());
        assertThat(personal(audited)).isEmpty();
        assertThat(uids(personalInAudit(audited))).containsExactly(1003L, 1004L);
        assertThat(personalInAudit(audited).getFirst().processes())
                .extracting(each -> each.pid())
                .containsExactly(812, 814);
    }

    @Test
    void endOfAViolationGoesToTheWarnedUser() {
        var warned = violationOf(process(812).uid(1003), process(813).uid(1004)).action(812, Outcome.SKIPPED_GRACE);
        assertThat(uids(personal(resolved(warned)))).containsExactly(1003L);
    }

    @Test
    void endOfAViolationGoesToNobodyWithoutAWarningOrAfterAnAction() {
        assertThat(personal(resolved(violationOf(process(812).uid(1003))))).isEmpty();
        var acted = violationOf(process(812).uid(1003))
                .action(812, Outcome.SKIPPED_GRACE)
                .action(812, Outcome.SIGNALLED);
        assertThat(personal(resolved(acted))).isEmpty();
    }

    private static List<Long> uids(List<PersonalNotice> notices) {
        return notices.stream().map(PersonalNotice::uid).toList();
    }
}
