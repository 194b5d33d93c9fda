package dev.genv.enforcer.recording.replay;

import static dev.genv.enforcer.testsupport.KnownRules.ENV_DEVICES;
import static dev.genv.enforcer.testsupport.KnownRules.ENV_MEMORY;
import static dev.genv.enforcer.testsupport.builder.GpuProcessBuilder.process;
import static dev.genv.enforcer.testsupport.builder.ViolationBuilder.violationOf;
import static org.assertj.core.api.Assertions.assertThat;

import dev.genv.enforcer.enforcement.record.Event;
import dev.genv.enforcer.enforcement.record.Event.EventContent;
import dev.genv.enforcer.policy.RuleDefinition;
import dev.genv.enforcer.recording.replay.ViolationTimeline.Entry;
import java.time.Duration;
import java.time.Instant;
import org.junit.jupiter.api.Test;

class ViolationTimelineTest {
    private static final Instant BEGIN = Instant.parse("2026-11-22T00:00:00Z");

    private final ViolationTimeline day = new ViolationTimeline(BEGIN, BEGIN.plus(Duration.ofDays(1)));

    @Test
    void countsByHourOfADayAndByRule() {
        day.add(opened("00:00:00", ENV_MEMORY));
        day.add(opened("00:59:59.999", ENV_MEMORY));
        day.add(opened("00:30:00", ENV_DEVICES));
        day.add(opened("01:00:00", ENV_MEMORY));
        day.add(opened("23:59:59", ENV_MEMORY));
        assertThat(day.entries())
                .containsExactly(
                        new Entry(at("00:00:00"), ENV_DEVICES.name(), 1),
                        new Entry(at("00:00:00"), ENV_MEMORY.name(), 2),
                        new Entry(at("01:00:00"), ENV_MEMORY.name(), 1),
                        new Entry(at("23:00:00"), ENV_MEMORY.name(), 1));
    }

    @Test
    void bothEndsBelongToThePeriod() {
        var end = BEGIN.plus(Duration.ofDays(1));
        day.add(opened(BEGIN.minusMillis(1), ENV_MEMORY));
        day.add(opened(end, ENV_MEMORY));
        day.add(opened(end.plusMillis(1), ENV_MEMORY));
        assertThat(day.entries()).containsExactly(new Entry(at("23:00:00"), ENV_MEMORY.name(), 1));
    }

    @Test
    void onlyTheBeginOfAViolationCounts() {
        var violation = violationOf(process(1)).resolved().build();
        day.add(new Event(1, BEGIN, new EventContent.ViolationResolved(violation)));
        assertThat(day.entries()).isEmpty();
    }

    @Test
    void periodMayBeAnInstantOrAllOfTime() {
        var instant = new ViolationTimeline(BEGIN, BEGIN);
        instant.add(opened(BEGIN, ENV_MEMORY));
        assertThat(instant.entries()).containsExactly(new Entry(BEGIN, ENV_MEMORY.name(), 1));
        var all = new ViolationTimeline(Instant.EPOCH, Instant.parse("9999-12-31T23:59:59Z"));
        all.add(opened(BEGIN, ENV_MEMORY));
        assertThat(all.entries()).containsExactly(new Entry(Instant.EPOCH, ENV_MEMORY.name(), 1));
    }

    private static Event opened(String time, RuleDefinition rule) {
        return opened(at(time), rule);
    }

    private static Event opened(Instant at, RuleDefinition rule) {
        return new Event(
                1,
                at,
                new EventContent.ViolationOpened(
                        violationOf(process(1)).rule(rule).build()));
    }

    private static Instant at(String time) {
        return Instant.parse("2026-11-22T%sZ".formatted(time));
    }
}
