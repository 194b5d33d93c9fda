package dev.genv.enforcer.store;

import static dev.genv.enforcer.testsupport.builder.EnvBuilder.env;
import static dev.genv.enforcer.testsupport.builder.GpuProcessBuilder.process;
import static dev.genv.enforcer.testsupport.builder.HostBuilder.host;
import static org.assertj.core.api.Assertions.assertThat;

import dev.genv.enforcer.enforcement.report.Event.EventContent;
import dev.genv.enforcer.policy.RuleDefinition.RuleMode;
import dev.genv.enforcer.testsupport.KnownRules;
import dev.genv.enforcer.testsupport.builder.EnvBuilder;
import dev.genv.enforcer.testsupport.builder.GpuProcessBuilder;
import dev.genv.enforcer.testsupport.builder.HostBuilder;
import java.io.IOException;
import java.util.Map;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

/** One user displaces nothing that is recorded of another one, neither in memory nor in the database. */
class PastSharesTest extends StoreFixture {
    private static final int CYCLES = 40;
    private static final String LONG = "x".repeat(4_000);

    @Test
    void newDisputedEnvironmentsWithLongTextsInEachCycleDisplaceNoTermination() throws Exception {
        assertKeepsTheTermination(cycle -> host().devices(2)
                .with(IntStream.range(0, 100)
                        .mapToObj(number -> env("%d-%d".formatted(cycle, number) + LONG)
                                .user("%d-%d".formatted(number, cycle) + LONG)
                                .disputed(LONG))
                        .toArray(EnvBuilder[]::new)));
    }

    @Test
    void newProcessesOfAnotherUserInEachCycleDisplaceNoTermination() throws Exception {
        assertKeepsTheTermination(cycle -> host().devices(2)
                .with(IntStream.range(0, 100)
                        .mapToObj(number -> process(1_000 + 100 * cycle + number)
                                .uid(1002)
                                .inEnvironment("%d-%d".formatted(cycle, number) + LONG)
                                .uses(1))
                        .toArray(GpuProcessBuilder[]::new)));
    }

    private interface Flood {
        HostBuilder inCycle(int number);
    }

    private void assertKeepsTheTermination(Flood flood) throws Exception {
        stop();
        maxBytes = 4 << 20;
        rules = Map.of(
                KnownRules.NON_ENV_PROCESSES, RuleMode.ENFORCE,
                KnownRules.INACTIVE_ENV_PROCESSES, RuleMode.AUDIT,
                KnownRules.ENV_OWNER, RuleMode.AUDIT);
        start();
        node.setSnapshot(host().devices(2).with(process(7).uid(1001).uses(0)));
        cycle();
        var id = only().id();
        node.setSnapshot(host().devices(2));
        cycle();
        for (var number = 0; number < CYCLES; number++) {
            node.setSnapshot(flood.inCycle(number));
            cycle();
        }
        assertHas(id);
        restart();
        assertHas(id);
        stop();
        assertThat(query("SELECT COUNT(*) FROM event WHERE content LIKE '%" + id + "%'"))
                .as("opened, terminated and resolved")
                .isEqualTo(3);
        assertThat(query("SELECT COUNT(*) FROM violation WHERE owner = 'uid:1001'"))
                .isEqualTo(1);
        assertThat(query("SELECT COUNT(*) FROM action WHERE owner = 'uid:1001' AND signal = 'TERM'"))
                .isEqualTo(1);
        assertThat(query("SELECT MAX(LENGTH(entry)) FROM violation"))
                .as("texts are cut")
                .isLessThan(4_000);
        assertThat(query("SELECT SUM(bytes) FROM event")).isLessThanOrEqualTo(maxBytes / 16 * 6);
        assertThat(query("SELECT COUNT(*) FROM size WHERE bytes <> (SELECT TOTAL(bytes) FROM event WHERE event.host ="
                        + " size.host AND event.owner = size.owner) AND kind = 'event'"))
                .isZero();
    }

    private void assertHas(String id) throws IOException {
        assertThat(registry.find(id))
                .isPresent()
                .get()
                .satisfies(entry -> assertThat(entry.active()).isFalse());
        assertThat(events.after(0, 10_000).events()).isNotEmpty();
        var position = 0L;
        var actions = 0;
        while (position < events.latest()) {
            for (var event : events.after(position, 1).events()) {
                position = event.sequence();
                if (event.content() instanceof EventContent.ActionRecorded(var its, var _)
                        && its.id().equals(id)) {
                    actions++;
                }
            }
        }
        assertThat(actions).isEqualTo(1);
    }
}
