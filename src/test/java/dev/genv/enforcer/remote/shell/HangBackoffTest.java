package dev.genv.enforcer.remote.shell;

import static org.assertj.core.api.Assertions.assertThat;

import dev.genv.enforcer.model.GpuProcess;
import dev.genv.enforcer.model.Membership;
import dev.genv.enforcer.model.ProcessId;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

class HangBackoffTest {
    private final AtomicLong nanos = new AtomicLong(-5);
    private final HangBackoff<String> backoff = new HangBackoff<>(nanos::get);
    private final SilentProcesses silentProcesses = new SilentProcesses(nanos::get);

    @Test
    void doublesTheDelayUpToOneHour() {
        assertThat(backoff.isPaused("a")).isFalse();
        for (var length = Duration.ofMinutes(1); length.toMinutes() < 60; length = length.multipliedBy(2)) {
            assertPausedFor(length);
        }
        assertPausedFor(Duration.ofHours(1));
        assertPausedFor(Duration.ofHours(1));
    }

    private void assertPausedFor(Duration length) {
        backoff.hung("a");
        advanceTime(length.minusNanos(1));
        assertThat(backoff.isPaused("a")).isTrue();
        assertThat(backoff.isPaused("b")).isFalse();
        assertThat(backoff.paused()).containsExactly("a");
        advanceTime(Duration.ofNanos(1));
        assertThat(backoff.isPaused("a")).isFalse();
        assertThat(backoff.paused()).isEmpty();
    }

    @Test
    void answerResetsTheDelay() {
        backoff.hung("a");
        backoff.hung("a");
        backoff.answered("a");
        assertThat(backoff.isPaused("a")).isFalse();
        assertPausedFor(Duration.ofMinutes(1));
    }

    @Test
    void keepsAtMostOneThousandEntries() {
        for (var i = 0; i < 1500; i++) {
            backoff.hung("number " + i);
        }
        assertThat(backoff.paused()).hasSize(1000).contains("number 1499").doesNotContain("number 0");
    }

    @Test
    void skipsAllProcessesOfAUserWithManySilentOnes() {
        var processes = new ArrayList<GpuProcess>();
        for (var pid = 1; pid <= 20; pid++) {
            processes.add(process(pid, 1000L));
            processes.add(process(100 + pid, 0L));
            processes.add(process(200 + pid, null));
        }
        processes.add(process(300, 1001L));
        silentProcesses.heard(processes, firstIdsOfEachUser(SilentProcesses.MOST_OF_A_USER - 1), Set.of());
        assertThat(silentProcesses.left()).hasSize(3 * (SilentProcesses.MOST_OF_A_USER - 1));
        silentProcesses.heard(processes, firstIdsOfEachUser(SilentProcesses.MOST_OF_A_USER), silentProcesses.left());
        assertThat(silentProcesses.left())
                .hasSize(20 + 2 * SilentProcesses.MOST_OF_A_USER)
                .contains(new ProcessId(20, 7))
                .doesNotContain(new ProcessId(300, 7));
    }

    @Test
    void skippedProcessDoesNotExtendItsDelay() {
        var process = process(1, 1000L);
        silentProcesses.heard(List.of(process), List.of(process.id()), Set.of());
        advanceTime(Duration.ofSeconds(59));
        silentProcesses.heard(List.of(process), List.of(process.id()), silentProcesses.left());
        advanceTime(Duration.ofSeconds(1));
        assertThat(silentProcesses.left()).isEmpty();
    }

    /** It has the pid of one that was left alone: not even it was asked. */
    @Test
    void delayDoesNotApplyToANewProcessWithTheSamePid() {
        var former = new ProcessId(1, 3);
        silentProcesses.heard(List.of(), List.of(former), Set.of());
        var process = process(1, 1000L);
        silentProcesses.heard(List.of(process), List.of(process.id()), silentProcesses.left());
        silentProcesses.ended(former);
        assertThat(silentProcesses.left()).isEmpty();
    }

    private static List<ProcessId> firstIdsOfEachUser(int count) {
        var ids = new ArrayList<ProcessId>();
        for (var pid = 1; pid <= count; pid++) {
            ids.add(new ProcessId(pid, 7));
            ids.add(new ProcessId(100 + pid, 7));
            ids.add(new ProcessId(200 + pid, 7));
        }
        return ids;
    }

    private static GpuProcess process(int pid, @Nullable Long uid) {
        return new GpuProcess(new ProcessId(pid, 7), uid, "python", new Membership.Outside(), List.of());
    }

    private void advanceTime(Duration time) {
        nanos.addAndGet(time.toNanos());
    }
}
