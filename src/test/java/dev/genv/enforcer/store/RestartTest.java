package dev.genv.enforcer.store;

import static dev.genv.enforcer.testsupport.builder.GpuProcessBuilder.process;
import static dev.genv.enforcer.testsupport.builder.HostBuilder.host;
import static org.assertj.core.api.Assertions.assertThat;

import dev.genv.enforcer.enforcement.host.Outcome;
import dev.genv.enforcer.enforcement.host.Result;
import dev.genv.enforcer.enforcement.host.SafetyLimits;
import dev.genv.enforcer.enforcement.host.ServiceMode;
import dev.genv.enforcer.enforcement.record.Event;
import dev.genv.enforcer.enforcement.record.Event.EventContent;
import dev.genv.enforcer.enforcement.record.ViolationRecord;
import dev.genv.enforcer.observation.Listings;
import dev.genv.enforcer.policy.Action;
import dev.genv.enforcer.policy.Action.Signal;
import dev.genv.enforcer.policy.RuleDefinition.RuleMode;
import dev.genv.enforcer.testsupport.builder.HostBuilder;
import java.io.IOException;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** A restart is the same as a suspension between two cycles. */
class RestartTest extends StoreFixture {
    private static final HostBuilder STRAY = host().devices(2).with(process(7).uses(0));

    @Test
    void violationsContinue() throws IOException {
        node.setSnapshot(STRAY);
        cycles(2);
        var before = only();
        restart();
        assertThat(only())
                .as("readers see it before the first cycle")
                .usingRecursiveComparison()
                .ignoringFields("next")
                .isEqualTo(before);
    }

    /** A process keeps the environment of its shell, also if the shell is struck from the list and the service is restarted. */
    @Test
    void listedPidsAreRememberedUntilAReboot() throws IOException {
        var listing = new Listings.Listing(Optional.of("a"), 1003L, 900);
        var listings = new Listings("machine boot", 5L, Map.of(7, listing), Map.of(8, 700L), 0, Set.of(1003L));
        cycle();
        node.setMachine("machine boot").restore(listings);
        cycle();
        node.restore(Listings.NONE);
        restart();
        cycle();
        assertThat(node.listings()).isEqualTo(listings);
    }

    @Test
    void resolvedViolationsAndEventsContinue() throws IOException {
        node.setSnapshot(STRAY);
        cycle();
        node.setSnapshot(host().devices(2));
        cycle();
        var before = only();
        assertThat(before.active()).isFalse();
        var last = events.latest();
        restart();
        assertThat(only()).isEqualTo(before);
        assertThat(events.after(0, 100).events())
                .extracting(Event::content)
                .extracting(content -> content.getClass().getSimpleName())
                .containsExactly(
                        "ServiceStarted", "ViolationOpened", "ActionRecorded", "ViolationResolved", "ServiceStarted");
        assertThat(events.latest()).isEqualTo(last + 1);
        cycle();
        restart();
        assertThat(events.latest()).isEqualTo(last + 2);
    }

    @Test
    void aReaderOfAnEarlierRunGetsWhatItMissed() throws IOException {
        node.setSnapshot(STRAY);
        cycle();
        var seen = events.latest();
        var stream = events.stream(seen);
        assertThat(events.isKnown(stream, seen + 1)).isFalse();
        restart();
        assertThat(events.isKnown(stream, seen)).isTrue();
        assertThat(events.after(seen, 10).hasGap()).isFalse();
        assertThat(events.after(seen, 10).events())
                .extracting(Event::content)
                .containsExactly(new EventContent.ServiceStarted("1", "enforce"));
        restart();
        cycle();
        restart();
        assertThat(events.isKnown(stream, seen)).as("two runs ago").isTrue();
        assertThat(events.after(seen, 10).hasGap()).isFalse();
    }

    @Test
    void aReaderOfEventsThatTheDatabaseLacksHasAGap() throws IOException {
        node.setSnapshot(STRAY);
        cycle();
        var stored = events.latest();
        var stream = events.stream(stored);
        stop(); // as if the disk did not take the next cycle
        node.setSnapshot(host().devices(2));
        cycle();
        var shown = events.latest();
        assertThat(shown).isGreaterThan(stored);
        var ofRun = events.stream(shown);
        assertThat(ofRun).isNotEqualTo(stream);
        start();
        cycle();
        cycle();
        assertThat(events.latest()).as("the position is used again").isGreaterThanOrEqualTo(shown);
        assertThat(events.isKnown(ofRun, shown)).isFalse();
        assertThat(events.isKnown(stream, stored)).isTrue();
    }

    @Test
    void afterABootAllViolationsAreOver() throws IOException {
        node.setSnapshot(STRAY);
        cycle();
        var id = only().id();
        processes = "boot 2";
        restart();
        assertThat(only().active()).isFalse();
        cycle();
        assertThat(registry.find(ViolationRecord::active, 10))
                .as("the same pid is another process")
                .singleElement()
                .satisfies(entry -> assertThat(entry.id()).isNotEqualTo(id));
        assertThat(signals()).containsExactly(Signal.TERM, Signal.TERM);
        restart();
        assertThat(events.after(0, 100).events())
                .extracting(Event::content)
                .filteredOn(EventContent.ViolationResolved.class::isInstance)
                .hasSize(1);
    }

    @Test
    void anActionOfTheFirstCycleAfterABootIsNotRepeated() throws IOException {
        node.setSnapshot(STRAY);
        cycle();
        processes = "boot 2";
        restart();
        node.answerWith(_ -> {
            stop(); // the service is killed before the end of its first cycle
            return Result.of(Outcome.SIGNALLED);
        });
        cycle();
        node.answerWith(_ -> Result.of(Outcome.SIGNALLED));
        start();
        cycles(2);
        assertThat(signals()).as("one for each process").containsExactly(Signal.TERM, Signal.TERM);
        processes = "boot 3";
        restart();
        cycle();
        assertThat(signals()).as("that of another boot is over").hasSize(3);
    }

    @Test
    void theNewModeCounts() throws IOException {
        mode = ServiceMode.AUDIT;
        restart();
        node.setSnapshot(STRAY);
        cycles(3);
        mode = ServiceMode.ENFORCE;
        restart();
        cycle();
        assertThat(only().mode()).isEqualTo(RuleMode.ENFORCE);
        assertThat(signals()).containsExactly(Signal.TERM);
        mode = ServiceMode.AUDIT;
        restart();
        cycles(20);
        assertThat(signals()).as("no SIGKILL in audit mode").containsExactly(Signal.TERM);
    }

    @Test
    void anActionWithoutAResultIsNotRepeated() throws IOException {
        node.setSnapshot(STRAY).answerWith(action -> {
            stop(); // the service is killed after the signal
            return Result.of(Outcome.SIGNALLED);
        });
        cycle();
        node.answerWith(_ -> Result.of(Outcome.SIGNALLED));
        start();
        cycles(2);
        assertThat(signals()).containsExactly(Signal.TERM);
        assertThat(only().actions()).singleElement().satisfies(note -> {
            assertThat(note.outcome()).isEqualTo(Outcome.FAILED);
            assertThat(note.detail()).contains("it may have been executed");
        });
    }

    @Test
    void theWallClockDoesNotDecideTheOrder() throws IOException {
        node.setSnapshot(STRAY);
        cycle();
        var first = events.latest();
        time.setWallBack(Duration.ofDays(400));
        restart();
        node.setSnapshot(host().devices(2));
        cycle();
        restart();
        assertThat(only().active()).isFalse();
        assertThat(events.after(0, 100).events()).extracting(Event::sequence).isSorted();
        assertThat(events.latest()).isGreaterThan(first);
    }

    private List<Signal> signals() {
        return node.executed.stream()
                .map(action -> ((Action.Terminate) action).signal())
                .toList();
    }

    /** The events of earlier runs are restored, although the processes of another boot are not. */
    @Test
    void positionOfTheLastCycleIsRestoredAlsoAfterABoot() throws IOException {
        deliveries.store("webhook", 7);
        deliveries.store("other", 9);
        cycle();
        deliveries.store("webhook", 8); // no cycle ends after that
        processes = "boot 2";
        restart();
        assertThat(deliveries.load("webhook")).hasValue(7);
        assertThat(deliveries.load("other")).hasValue(9);
    }

    @Test
    void aGraceThatPassedInAuditModeBeginsAgain() throws IOException {
        limits = new SafetyLimits(Duration.ofSeconds(60), null, 0);
        mode = ServiceMode.AUDIT;
        restart();
        node.setSnapshot(STRAY);
        cycles(20);
        mode = ServiceMode.ENFORCE;
        restart();
        cycles(6);
        assertThat(node.executed).isEmpty();
        restart();
        cycles(1);
        assertThat(node.executed)
                .as("the first cycle after a restart adds no time")
                .isEmpty();
        cycles(1);
        assertThat(node.executed).hasSize(1);
    }

    /** The stop, how far the wall clock is set back, and the cycles until the grace period is over. */
    @ParameterizedTest
    @CsvSource({"PT59M, PT0M, 2", "PT61M, PT0M, 7", "PT0M, PT1M, 7"})
    void aGraceIsNotContinuedAfterALongStopOrWithAWallClockThatWasSetBack(Duration stop, Duration back, int cycles)
            throws IOException {
        limits = new SafetyLimits(Duration.ofSeconds(60), null, 0);
        restart();
        node.setSnapshot(STRAY);
        cycles(6); // 50 s
        stop();
        time.pass(stop);
        time.setWallBack(back);
        start();
        cycles(cycles - 1);
        assertThat(node.executed).isEmpty();
        cycles(1);
        assertThat(node.executed).hasSize(1);
    }

    private void cycles(int count) {
        for (var cycle = 0; cycle < count; cycle++) {
            cycle();
        }
    }
}
