package dev.genv.enforcer.enforcement;

import static dev.genv.enforcer.testsupport.builder.GpuProcessBuilder.process;
import static dev.genv.enforcer.testsupport.builder.HostBuilder.host;
import static org.assertj.core.api.Assertions.assertThat;

import dev.genv.enforcer.enforcement.host.ServiceMode;
import dev.genv.enforcer.enforcement.host.UnreachableException;
import dev.genv.enforcer.enforcement.record.Event;
import dev.genv.enforcer.enforcement.record.Event.EventContent;
import dev.genv.enforcer.enforcement.record.EventLog;
import dev.genv.enforcer.enforcement.record.ViolationRecord.ActionNote;
import dev.genv.enforcer.model.Problem;
import dev.genv.enforcer.model.ProblemCode;
import dev.genv.enforcer.testsupport.fake.FakeHost;
import dev.genv.enforcer.testsupport.fake.NoStore;
import dev.genv.enforcer.testsupport.fake.Records;
import java.util.List;
import org.junit.jupiter.api.Test;

/** The events of cycles. */
class CycleEventsTest extends EnforcerFixture {
    private final EventLog events = new EventLog();
    private final FakeHost node = new FakeHost(host().devices(1));
    private final Enforcer enforcer = EnforcerFactory.create(
            setup(ServiceMode.ENFORCE, true, node).build(),
            new Records(registry, events, new NoStore(), List.of()),
            time.ticker(),
            List.of());

    @Test
    void tellsAViolationFromItsAppearanceToItsResolution() {
        var stray = process(7).uses(0);
        node.setSnapshot(host().devices(1).with(stray));
        enforcer.runCycle();
        var id = all().getFirst().id();
        enforcer.runCycle();
        node.setSnapshot(host().devices(1)).setExited(stray.build().id());
        enforcer.runCycle();

        assertThat(events.after(0, 100).events())
                .extracting(event -> (EventContent.OfViolation) event.content())
                .allSatisfy(each -> assertThat(each.violation().id()).isEqualTo(id))
                .extracting(each -> "%s %s %s"
                        .formatted(
                                each.type(),
                                each.violation().active() ? "active" : "over",
                                each.violation().actions().stream()
                                        .map(ActionNote::outcome)
                                        .toList()))
                .containsExactly(
                        "violation_opened active []",
                        "action active [SIGNALLED]",
                        "action active [SIGNALLED, EXITED]",
                        "violation_resolved over [SIGNALLED, EXITED]");
    }

    @Test
    void tellsWhenAProblemBeginsAndEnds() {
        var unreachable = new UnreachableException(ProblemCode.HOST_UNREACHABLE, "refused");
        node.observeWith(() -> {
            throw unreachable;
        });
        enforcer.runCycle();
        enforcer.runCycle();
        node.setSnapshot(host().devices(1));
        enforcer.runCycle();

        var problem = new Problem(ProblemCode.HOST_UNREACHABLE, "refused");
        assertThat(events.after(0, 100).events())
                .extracting(Event::content)
                .containsExactly(
                        new EventContent.ProblemBegan(node.name(), problem),
                        new EventContent.ProblemEnded(node.name(), problem));
    }
}
