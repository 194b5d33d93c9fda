package dev.genv.enforcer.notification;

import static dev.genv.enforcer.notification.NoticeFixture.action;
import static dev.genv.enforcer.testsupport.builder.GpuProcessBuilder.process;
import static dev.genv.enforcer.testsupport.builder.ViolationBuilder.violationOf;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.genv.enforcer.enforcement.host.Outcome;
import dev.genv.enforcer.enforcement.record.EventLog;
import dev.genv.enforcer.testsupport.fake.FakeTime;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

class FailedNoticeTest {
    private final EventLog log = new EventLog();
    private final UserDirectory users = new UserDirectory();
    private final NoticeReader reader = new NoticeReader(users, false);

    /** A defect that concerns one event must not hold back the later ones. */
    @Test
    void eventThatFailsIsNotReadAgain() {
        users.setCurrentUpTo(Long.MAX_VALUE);
        reader.begin(log);
        for (var id : List.of("a", "b")) {
            var violation = violationOf(process(812).uid(1003)).id(id);
            log.append(FakeTime.START, List.of(action(violation, 812, Outcome.SIGNALLED)));
        }
        assertThatThrownBy(() -> reader.read(
                        log,
                        _ -> {
                            throw new IllegalStateException("a defect");
                        },
                        _ -> {}))
                .hasMessage("a defect");
        var read = new ArrayList<PersonalNotice>();
        reader.read(log, read::add, _ -> {});
        assertThat(read).extracting(notice -> notice.violation().id()).containsExactly("b");
    }
}
