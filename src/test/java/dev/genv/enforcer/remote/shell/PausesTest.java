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

class PausesTest {
    private final AtomicLong nanos = new AtomicLong(-5);
    private final Pauses<String> pauses = new Pauses<>(nanos::get);
    private final SilentProcesses silent = new SilentProcesses(nanos::get);

    @Test
    void eachPauseIsTwiceAsLongAsTheOneBefore() {
        assertThat(pauses.isPaused("a")).isFalse();
        for (var length = Duration.ofMinutes(1); length.toMinutes() < 60; length = length.multipliedBy(2)) {
            assertPausedFor(length);
        }
        assertPausedFor(Duration.ofHours(1));
        assertPausedFor(Duration.ofHours(1));
    }

    private void assertPausedFor(Duration length) {
        pauses.hung("a");
        pass(length.minusNanos(1));
        assertThat(pauses.isPaused("a")).isTrue();
        assertThat(pauses.isPaused("b")).isFalse();
        assertThat(pauses.paused()).containsExactly("a");
        pass(Duration.ofNanos(1));
        assertThat(pauses.isPaused("a")).isFalse();
        assertThat(pauses.paused()).isEmpty();
    }

    @Test
    void whoeverAnswersStartsAnew() {
        pauses.hung("a");
        pauses.hung("a");
        pauses.answered("a");
        assertThat(pauses.isPaused("a")).isFalse();
        assertPausedFor(Duration.ofMinutes(1));
    }

    @Test
    void theyAreBounded() {
        for (var i = 0; i < 1500; i++) {
            pauses.hung("number " + i);
        }
        assertThat(pauses.paused()).hasSize(1000).contains("number 1499").doesNotContain("number 0");
    }

    @Test
    void aUserWithManySilentProcessesHasAllOfHisLeftAlone() {
        var processes = new ArrayList<GpuProcess>();
        for (var pid = 1; pid <= 20; pid++) {
            processes.add(process(pid, 1000L));
            processes.add(process(100 + pid, 0L));
            processes.add(process(200 + pid, null));
        }
        processes.add(process(300, 1001L));
        silent.heard(processes, first(SilentProcesses.MOST_OF_A_USER - 1), Set.of());
        assertThat(silent.left()).hasSize(3 * (SilentProcesses.MOST_OF_A_USER - 1));
        silent.heard(processes, first(SilentProcesses.MOST_OF_A_USER), silent.left());
        assertThat(silent.left())
                .hasSize(20 + 2 * SilentProcesses.MOST_OF_A_USER)
                .contains(new ProcessId(20, 7))
                .doesNotContain(new ProcessId(300, 7));
    }

    @Test
    void whoWasNotAskedHasNotHungAgain() {
        var process = process(1, 1000L);
        silent.heard(List.of(process), List.of(process.id()), Set.of());
        pass(Duration.ofSeconds(59));
        silent.heard(List.of(process), List.of(process.id()), silent.left());
        pass(Duration.ofSeconds(1));
        assertThat(silent.left()).isEmpty();
    }

    /** It has the pid of one that was left alone: not even it was asked. */
    @Test
    void aNewProcessWithTheSamePidHasNotHung() {
        var former = new ProcessId(1, 3);
        silent.heard(List.of(), List.of(former), Set.of());
        var process = process(1, 1000L);
        silent.heard(List.of(process), List.of(process.id()), silent.left());
        silent.ended(former);
        assertThat(silent.left()).isEmpty();
    }

    private static List<ProcessId> first(int count) {
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

    private void pass(Duration time) {
        nanos.addAndGet(time.toNanos());
    }
}
