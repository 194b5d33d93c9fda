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
}
