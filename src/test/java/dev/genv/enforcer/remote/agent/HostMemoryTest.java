package dev.genv.enforcer.remote.agent;

import static org.assertj.core.api.Assertions.assertThat;

import dev.genv.enforcer.host.Bytes;
import dev.genv.enforcer.host.HostFacts;
import dev.genv.enforcer.host.HostFacts.AccountFacts;
import dev.genv.enforcer.host.HostFacts.AccountFacts.TextFile;
import dev.genv.enforcer.host.HostFacts.GpuFacts;
import dev.genv.enforcer.host.HostFacts.GpuFacts.ToolOutput;
import dev.genv.enforcer.host.HostFacts.HolderFacts;
import dev.genv.enforcer.host.HostFacts.LivenessFacts;
import dev.genv.enforcer.host.HostFacts.LivenessFacts.Kernels;
import dev.genv.enforcer.host.HostFacts.ProcessFacts;
import dev.genv.enforcer.host.HostFacts.ProcessFacts.EnvironFacts;
import dev.genv.enforcer.host.Reading;
import dev.genv.enforcer.host.Reading.Failure;
import dev.genv.enforcer.model.ProcessId;
import dev.genv.enforcer.remote.agent.HostMemory.HangBackoff;
import java.time.Duration;
import java.util.List;
import java.util.Set;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;

/** What did not answer is left out for a while. */
class HostMemoryTest {
    private static final HostFacts SAMPLE = SampleFacts.ALL;
    private static final Kernels HANG = new Kernels(Set.of(), "process 7 of uid 1000: reading its arguments hangs");
    private static final Kernels FOUND = new Kernels(Set.of("kernel-1.json"), "");
    private static final ProcessId SILENT = new ProcessId(1, 7);
    private static final Reading<EnvironFacts> TIMEOUT = Reading.failed(Failure.TIMEOUT, "");

    private final AtomicLong nanos = new AtomicLong(-5);
    private final HostMemory memory = new HostMemory(nanos::get);
    private final HangBackoff<String> backoff = new HangBackoff<>(nanos::get);

    private AccountFacts accounts = SAMPLE.accounts();
    private GpuFacts gpu = SAMPLE.gpu();
    private HolderFacts holders = SAMPLE.holders();
    private Kernels kernels = Kernels.NONE;
    private boolean toolHangs;

    private void awaitEndOfShortestPause() {
        nanos.addAndGet(HangBackoff.SHORTEST.toNanos());
    }

    @Test
    void doublesThePauseUpToOneHourUntilAnAnswer() {
        assertThat(backoff.isPaused("a")).isFalse();
        for (var length = Duration.ofMinutes(1); length.toMinutes() < 60; length = length.multipliedBy(2)) {
            assertPausedFor(length);
        }
        assertPausedFor(Duration.ofHours(1));
        assertPausedFor(Duration.ofHours(1));
        backoff.record("a", false);
        assertPausedFor(Duration.ofMinutes(1));
    }

    private void assertPausedFor(Duration length) {
        backoff.record("a", true);
        nanos.addAndGet(length.toNanos() - 1);
        assertThat(backoff.isPaused("b")).isFalse();
        assertThat(backoff.paused()).containsExactly("a");
        nanos.incrementAndGet();
        assertThat(backoff.isPaused("a")).isFalse();
        assertThat(backoff.paused()).isEmpty();
    }

    @Test
    void keepsAtMostOneThousandEntries() {
        for (var i = 0; i < 1500; i++) {
            backoff.record("number " + i, true);
        }
        assertThat(backoff.paused()).hasSize(1000).contains("number 1499").doesNotContain("number 0");
    }

    @Test
    void leavesOutToolThatCannotBeKilledForAWhile() {
        toolHangs = true;
        record();
        assertThat(memory.omitted().tool()).isTrue();
        record(); // it was not run
        awaitEndOfShortestPause();
        assertThat(memory.omitted().tool()).isFalse();
        toolHangs = false;
        record();
        assertThat(memory.omitted().tool()).isFalse();
    }

    /** Otherwise a user could end each pause by an environment without kernels. */
    @Test
    void pauseGrowsAlthoughThereWasNothingToSearchInBetween() {
        record(HANG);
        record(HANG); // they were not searched
        awaitEndOfShortestPause();
        assertThat(memory.omitted().kernels()).isFalse();
        record(Kernels.NONE);
        record(HANG);
        awaitEndOfShortestPause();
        assertThat(memory.omitted().kernels()).isTrue();
        awaitEndOfShortestPause();
        record(FOUND);
        record(HANG);
        awaitEndOfShortestPause();
        assertThat(memory.omitted().kernels()).isFalse();
    }

    @Test
    void doesNotAskForTheStatusForAWhileAfterAHang() {
        recordStatus(Reading.failed(Failure.TIMEOUT, "it hangs"));
        assertThat(memory.omitted().status()).isTrue();
        assertThat(memory.omitted().tool()).isFalse();
        recordStatus(Reading.failed(Failure.SKIPPED, "it is not asked")); // which is no answer
        awaitEndOfShortestPause();
        assertThat(memory.omitted().status()).isFalse();
        recordStatus(Reading.failed(Failure.TIMEOUT, "it hangs"));
        awaitEndOfShortestPause();
        assertThat(memory.omitted().status()).isTrue(); // the pause is longer now
        awaitEndOfShortestPause();
        recordStatus(Reading.of(new ToolOutput(2, Bytes.EMPTY, Bytes.EMPTY)));
        assertThat(memory.omitted().status()).isFalse();
    }

    @Test
    void remembersTheVersionsOfTheAccounts() {
        assertThat(memory.omitted().passwd()).isEmpty();
        accounts = new AccountFacts(
                Reading.of(new TextFile("1", null)), Reading.of(new TextFile("2", null)), AccountFacts.NOT_ASKED);
        record();
        accounts = new AccountFacts(
                Reading.failed(Failure.DENIED, ""), Reading.of(new TextFile("3", null)), AccountFacts.NOT_ASKED);
        record();
        assertThat(memory.omitted().passwd()).isEqualTo("1");
        assertThat(memory.omitted().subuid()).isEqualTo("3");
    }

    @Test
    void skipsOnlyTheProcessesThatDidNotAnswer() {
        recordProcesses(
                process(1, 7, TIMEOUT),
                process(2, 7, SAMPLE.processes().getFirst().environ()),
                process(3, 7, Reading.failed(Failure.DENIED, "")));
        assertThat(memory.omitted().processes()).containsExactly(SILENT);
    }

    @Test
    void skippedProcessDoesNotExtendItsPause() {
        recordProcesses(process(1, 7, TIMEOUT));
        nanos.addAndGet(HangBackoff.SHORTEST.toNanos() - 1);
        for (var failure : List.of(Failure.SKIPPED, Failure.NO_TIME)) {
            recordProcesses(process(1, 7, Reading.failed(failure, "")));
            assertThat(memory.omitted().processes()).hasSize(1);
        }
        nanos.incrementAndGet();
        assertThat(memory.omitted().processes()).isEmpty();
    }

    @Test
    void pauseEndsWithTheProcess() {
        recordProcesses(process(1, 7, TIMEOUT));
        recordProcesses(process(1, Reading.failed(Failure.OTHER, ""), Reading.failed(Failure.SKIPPED, "")));
        assertThat(memory.omitted().processes()).containsExactly(SILENT);
        recordProcesses(process(1, Reading.failed(Failure.ABSENT, ""), Reading.failed(Failure.ABSENT, "")));
        assertThat(memory.omitted().processes()).isEmpty();
        recordProcesses(process(1, 3, TIMEOUT));
        recordProcesses(process(1, 7, Reading.failed(Failure.SKIPPED, "")));
        assertThat(memory.omitted().processes())
                .as("a new process with the pid")
                .isEmpty();
    }

    @Test
    void leavesOutAHolderThatDoesNotAnswer() {
        holders = new HolderFacts(
                List.of(), List.of(new HolderFacts.Holder(process(1, 7, TIMEOUT), List.of(0), List.of())), "");
        record();
        assertThat(memory.omitted().processes()).containsExactly(SILENT);
    }

    private static ProcessFacts process(int pid, int start, Reading<EnvironFacts> environ) {
        var text = "%d (python) S 1%s %d%s\n".formatted(pid, " 9".repeat(17), start, " 9".repeat(30));
        return process(pid, Reading.of(SampleFacts.bytes(text)), environ);
    }

    private static ProcessFacts process(int pid, Reading<Bytes> stat, Reading<EnvironFacts> environ) {
        return new ProcessFacts(pid, stat, Reading.of(1000L), environ, Reading.failed(Failure.OTHER, ""), stat);
    }

    private void recordProcesses(ProcessFacts... processes) {
        memory.recordProcesses(List.of(processes), memory.omitted().processes());
    }

    private void recordStatus(Reading<ToolOutput> answer) {
        gpu = SAMPLE.gpu().withStatus(answer);
        record();
    }

    private void record(Kernels found) {
        kernels = found;
        record();
    }

    private void record() {
        var facts = new HostFacts(
                SAMPLE.machine(),
                SAMPLE.access(),
                accounts,
                SAMPLE.programs(),
                gpu,
                SAMPLE.processes(),
                SAMPLE.related(),
                SAMPLE.relatedOmission(),
                holders,
                SAMPLE.earlierState(),
                SAMPLE.state(),
                new LivenessFacts(Reading.of(List.of()), kernels),
                SAMPLE.enforcers(),
                SAMPLE.verified());
        memory.record(new Answer.Observed(facts, toolHangs), memory.omitted());
    }
}
