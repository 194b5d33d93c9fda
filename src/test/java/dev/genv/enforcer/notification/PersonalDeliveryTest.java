package dev.genv.enforcer.notification;

import static dev.genv.enforcer.notification.NoticeFixture.action;
import static dev.genv.enforcer.testsupport.builder.GpuProcessBuilder.process;
import static dev.genv.enforcer.testsupport.builder.ViolationBuilder.violationOf;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.genv.enforcer.enforcement.host.Outcome;
import dev.genv.enforcer.enforcement.record.EventLog;
import dev.genv.enforcer.enforcement.record.ViolationRegistry;
import dev.genv.enforcer.model.GpuProcess.Workload;
import dev.genv.enforcer.model.GpuProcess.Workload.Pod;
import dev.genv.enforcer.notification.Notice.PersonalNotice;
import dev.genv.enforcer.testsupport.fake.FakeTime;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.function.Consumer;
import org.junit.jupiter.api.Test;

class PersonalDeliveryTest {
    private final EventLog log = new EventLog();
    private final UserDirectory users = new UserDirectory();
    private final List<PersonalNotice> notices = new ArrayList<>();

    @Test
    void leavesOutProcessesOfPods() throws InterruptedException {
        var pod = new Workload(null, null, new Pod("8b0f6b5e"), null);
        var delivery = new Collecting(notices::add);
        delivery.begin(log);
        var violation =
                violationOf(process(812).uid(1003).workload(pod), process(813).uid(1004));
        log.append(
                FakeTime.START,
                List.of(action(violation, 812, Outcome.SIGNALLED), action(violation, 813, Outcome.SIGNALLED)));
        users.setCurrentUpTo(log.latest());

        delivery.run(log);
        assertThat(notices).extracting(PersonalNotice::uid).containsExactly(1004L);
    }

    /** A defect that concerns one event must not hold back the later ones. */
    @Test
    void eventThatFailsIsNotReadAgain() throws InterruptedException {
        users.setCurrentUpTo(Long.MAX_VALUE);
        var delivery = new Collecting(notice -> {
            if (notice.violation().id().equals("a")) {
                throw new IllegalStateException("a defect");
            }
            notices.add(notice);
        });
        delivery.begin(log);
        for (var id : List.of("a", "b")) {
            var violation = violationOf(process(812).uid(1003)).id(id);
            log.append(FakeTime.START, List.of(action(violation, 812, Outcome.SIGNALLED)));
        }
        assertThatThrownBy(() -> delivery.run(log)).hasMessage("a defect");
        delivery.run(log);
        assertThat(notices).extracting(notice -> notice.violation().id()).containsExactly("b");
    }

    private final class Collecting extends PersonalDelivery<Long> {
        private final Consumer<PersonalNotice> action;

        Collecting(Consumer<PersonalNotice> action) {
            super(
                    "test",
                    new MessageSource(users, new NoticeText(Optional.empty(), new ViolationRegistry(0)), false),
                    new Limits(Duration.ZERO, 1),
                    new FakeTime().ticker(),
                    new SimpleMeterRegistry());
            this.action = action;
        }

        @Override
        Optional<Long> person(PersonalNotice personal) {
            action.accept(personal);
            return Optional.empty();
        }

        @Override
        Optional<Duration> deliver() {
            return Optional.empty();
        }
    }
}
