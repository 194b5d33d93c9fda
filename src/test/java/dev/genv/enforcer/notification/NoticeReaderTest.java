package dev.genv.enforcer.notification;

import static dev.genv.enforcer.notification.NoticeFixture.action;
import static dev.genv.enforcer.notification.NoticeFixture.lastAction;
import static dev.genv.enforcer.testsupport.builder.EnvBuilder.env;
import static dev.genv.enforcer.testsupport.builder.GpuProcessBuilder.process;
import static dev.genv.enforcer.testsupport.builder.ViolationBuilder.violationOf;
import static org.assertj.core.api.Assertions.assertThat;

import dev.genv.enforcer.enforcement.host.Outcome;
import dev.genv.enforcer.enforcement.record.EventLog;
import dev.genv.enforcer.enforcement.record.ViolationRecord.ActionNote;
import dev.genv.enforcer.model.Accounts;
import dev.genv.enforcer.model.SubordinateUids;
import dev.genv.enforcer.model.Workload;
import dev.genv.enforcer.model.Workload.Pod;
import dev.genv.enforcer.testsupport.fake.FakeTime;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.junit.jupiter.api.Test;

class NoticeReaderTest {
    @Test
    void leavesOutProcessesOfPods() {
        var pod = new Workload(null, null, new Pod("8b0f6b5e"), null);
        var log = new EventLog();
        var users = new UserDirectory();
        var reader = new NoticeReader(users, false);
        reader.begin(log);
        var violation =
                violationOf(process(812).uid(1003).workload(pod), process(813).uid(1004));
        log.append(
                FakeTime.START,
                List.of(action(violation, 812, Outcome.SIGNALLED), action(violation, 813, Outcome.SIGNALLED)));
        users.setCurrentUpTo(log.latest());

        var notices = new ArrayList<PersonalNotice>();
        reader.read(log, notices::add, _ -> {});
        assertThat(notices).extracting(PersonalNotice::uid).containsExactly(1004L);
    }

    @Test
    void detachmentWithoutAProcessReachesTheUserOfTheEnvironment() {
        var log = new EventLog();
        var users = new UserDirectory();
        var environment = env("a").livePidsOf(1003).build();
        users.update(
                Map.of("gpu-1", new UserDirectory.Users(Accounts.NONE, SubordinateUids.NONE, List.of(environment))));
        var reader = new NoticeReader(users, false);
        reader.begin(log);
        var detachment = new ActionNote(
                new ActionNote.TargetAttachment("gpu-1", "a", 0),
                Optional.empty(),
                FakeTime.START,
                Outcome.DETACHED,
                null);
        log.append(FakeTime.START, List.of(lastAction(violationOf().action(detachment))));
        users.setCurrentUpTo(log.latest());

        var notices = new ArrayList<PersonalNotice>();
        reader.read(log, notices::add, _ -> {});
        assertThat(notices).extracting(PersonalNotice::uid).containsExactly(1003L);
    }
}
