package dev.genv.enforcer.notification;

import static dev.genv.enforcer.notification.NoticeFixture.action;
import static dev.genv.enforcer.notification.NoticeFixture.notice;
import static dev.genv.enforcer.notification.NoticeFixture.opened;
import static dev.genv.enforcer.notification.NoticeFixture.resolved;
import static dev.genv.enforcer.testsupport.builder.GpuProcessBuilder.process;
import static dev.genv.enforcer.testsupport.builder.ViolationBuilder.violationOf;
import static org.assertj.core.api.Assertions.assertThat;

import dev.genv.enforcer.enforcement.host.Outcome;
import dev.genv.enforcer.enforcement.record.Event.EventContent;
import dev.genv.enforcer.model.Problem;
import dev.genv.enforcer.model.ProblemCode;
import dev.genv.enforcer.notification.Notice.NoticeKind;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

class NoticeTest {
    @Test
    void openedAndResolvedViolationsAreNotices() {
        assertThat(kind(opened(violationOf(process(812))))).isEqualTo(NoticeKind.OPENED);
        assertThat(kind(resolved(violationOf(process(812))))).isEqualTo(NoticeKind.RESOLVED);
    }

    @Test
    void firstActionThatWaitsForAGracePeriodIsAWarning() {
        assertThat(kind(action(violationOf(process(812)), 812, Outcome.SKIPPED_GRACE)))
                .isEqualTo(NoticeKind.WARNED);
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
    @EnumSource(names = {"SIGNALLED", "DETACHED", "DENIED", "FAILED", "UNKILLABLE"})
    void actionsAndTheirFailuresAreNotices(Outcome outcome) {
        assertThat(kind(action(violationOf(process(812)), 812, outcome))).isEqualTo(NoticeKind.ACTED);
    }

    @ParameterizedTest
    @EnumSource(
            names = {
                "SKIPPED_AUDIT",
                "SKIPPED_PROTECTED",
                "SKIPPED_EXEMPT",
                "SKIPPED_LIMIT",
                "EXITED",
                "ALREADY_GONE",
                "ALREADY_DETACHED"
            })
    void otherOutcomesAreNone(Outcome outcome) {
        assertThat(notice(action(violationOf(process(812)), 812, outcome))).isEmpty();
    }

    /** The service does not act on it after the grace period. */
    @Test
    void auditedViolationHasNoWarning() {
        assertThat(notice(action(violationOf(process(812)).audited(), 812, Outcome.SKIPPED_GRACE)))
                .isEmpty();
    }

    @Test
    void otherEventsAreNoNotices() {
        assertThat(notice(new EventContent.ServiceStarted("1", "audit"))).isEmpty();
        assertThat(notice(new EventContent.ProblemBegan("gpu-1", new Problem(ProblemCode.TIMEOUT, ""))))
                .isEmpty();
    }

    private static NoticeKind kind(EventContent content) {
        return notice(content).orElseThrow().kind();
    }
}
