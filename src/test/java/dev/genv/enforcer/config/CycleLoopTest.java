package dev.genv.enforcer.config;

import static dev.genv.enforcer.testsupport.HostBuilder.host;
import static org.assertj.core.api.Assertions.assertThat;

import dev.genv.enforcer.enforcement.CycleReport;
import dev.genv.enforcer.enforcement.Enforcer;
import dev.genv.enforcer.enforcement.Journal;
import dev.genv.enforcer.enforcement.Pace;
import dev.genv.enforcer.testsupport.FakeHost;
import dev.genv.enforcer.testsupport.FakeTime;
import dev.genv.enforcer.testsupport.SetupBuilder;
import io.quarkus.scheduler.Scheduler;
import io.quarkus.test.junit.QuarkusTest;
import jakarta.inject.Inject;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

/** What happens when the scheduler has fallen asleep: it goes by the time of day, and somebody may set that back. */
@QuarkusTest
class CycleLoopTest {
    private final FakeTime time = new FakeTime();
    private final List<CycleReport> cycles = new ArrayList<>();

    @Inject
    Scheduler scheduler;

    @Test
    void aCycleThatNobodyBeginsIsBegunByTheWatch() {
        var second = Duration.ofSeconds(1);
        var node = new FakeHost(host());
        var enforcer =
                new Enforcer(SetupBuilder.setup(node).build(), new Journal(1), time.ticker(), List.of(cycles::add));
        var loop = new CycleLoop(enforcer, new Pace(second, second), scheduler);

        time.pass(Duration.ofSeconds(3));
        loop.runIfOverdue();
        assertThat(cycles)
                .as("three seconds are within what a scheduler may be late")
                .isEmpty();

        time.pass(Duration.ofMillis(1));
        loop.runIfOverdue();
        assertThat(cycles).hasSize(1);

        loop.runIfOverdue();
        assertThat(cycles).as("one is enough").hasSize(1);
    }
}
