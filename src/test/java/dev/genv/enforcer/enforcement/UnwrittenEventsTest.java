package dev.genv.enforcer.enforcement;

import static dev.genv.enforcer.testsupport.builder.HostBuilder.host;
import static org.assertj.core.api.Assertions.assertThat;

import dev.genv.enforcer.enforcement.record.Event;
import dev.genv.enforcer.enforcement.record.Event.EventContent;
import dev.genv.enforcer.enforcement.record.EventLog;
import dev.genv.enforcer.enforcement.record.Store;
import dev.genv.enforcer.enforcement.record.ViolationRegistry;
import dev.genv.enforcer.model.Problem;
import dev.genv.enforcer.model.ProblemCode;
import dev.genv.enforcer.testsupport.builder.EnforcerConfigBuilder;
import dev.genv.enforcer.testsupport.fake.FakeHost;
import dev.genv.enforcer.testsupport.fake.FakeTime;
import dev.genv.enforcer.testsupport.fake.NoStore;
import dev.genv.enforcer.testsupport.fake.Records;
import java.lang.reflect.Proxy;
import java.util.Collections;
import java.util.List;
import org.junit.jupiter.api.Test;

class UnwrittenEventsTest {
    private final EventLog log = new EventLog();
    private boolean isAvailable = true;

    @Test
    void eventsAreWrittenAgainUntilTheDiskHasThem() {
        var first = number(2);
        assertThat(log.unstored(first)).isEqualTo(first);
        log.publish(first);
        var second = number(1);
        var both = log.unstored(second);
        assertThat(both).extracting(Event::sequence).containsExactly(1L, 2L, 3L);
        assertThat(log.confirm(both)).isZero();
        log.publish(second);
        assertThat(log.unstored(List.of())).isEmpty();
        assertThat(log.confirm(List.of())).isZero();
        assertThat(log.stored()).isEqualTo(3);
    }

    @Test
    void eventsThatAreNoLongerInTheLogAreReportedAsLostOnce() {
        var config = EnforcerConfigBuilder.enforcerConfig(new FakeHost(host().devices(1)))
                .build();
        var records = new Records(new ViolationRegistry(10), log, store(), List.of());
        var enforcer = EnforcerFactory.create(config, records, new FakeTime().ticker(), List.of());
        isAvailable = false;
        log.publish(number(EventLog.MAX_EVENTS + 5));
        enforcer.runCycle();
        assertThat(problems(enforcer)).isEmpty();
        isAvailable = true;
        assertThat(problems(enforcer)).isEmpty();
        assertThat(problems(enforcer))
                .containsExactly(new Problem(
                        ProblemCode.DATA_UNWRITABLE,
                        "the database lacks 5 events, because it was not available for too long"));
        assertThat(problems(enforcer)).isEmpty();
    }

    private static List<Problem> problems(Enforcer enforcer) {
        return enforcer.runCycle().orElseThrow().fleet().snapshots().getFirst().problems();
    }

    /** A store that keeps nothing, and may not be available. */
    private Store store() {
        return (Store) Proxy.newProxyInstance(
                Store.class.getClassLoader(),
                new Class<?>[] {Store.class},
                (_, method, arguments) ->
                        method.getName().equals("commit") ? isAvailable : method.invoke(new NoStore(), arguments));
    }

    private List<Event> number(int count) {
        return log.number(FakeTime.START, Collections.nCopies(count, new EventContent.ServiceStarted("1", "enforce")));
    }
}
