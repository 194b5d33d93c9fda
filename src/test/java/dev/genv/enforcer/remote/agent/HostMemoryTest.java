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
import dev.genv.enforcer.host.Reading;
import dev.genv.enforcer.host.Reading.Failure;
import dev.genv.enforcer.model.ProcessId;
import dev.genv.enforcer.remote.agent.HostMemory.HangBackoff;
import java.util.List;
import java.util.Set;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;

class HostMemoryTest {
    private static final Kernels HANG = new Kernels(Set.of(), "process 7 of uid 1000: reading its arguments hangs");
    private static final Kernels FOUND = new Kernels(Set.of("kernel-1.json"), "");

    private final AtomicLong nanos = new AtomicLong();
    private final HostMemory memory = new HostMemory(nanos::get);

    @Test
    void leavesOutToolThatCannotBeKilledForAWhile() {
        record(FOUND, true);
        assertThat(memory.omitted().tool()).isTrue();
        record(FOUND, true); // it was not run
        nanos.addAndGet(HangBackoff.SHORTEST.toNanos());
        assertThat(memory.omitted().tool()).isFalse();
        record(FOUND, false);
        assertThat(memory.omitted().tool()).isFalse();
    }

    @Test
    void leavesOutKernelsThatHangForAWhile() {
        record(HANG, false);
        assertThat(memory.omitted().kernels()).isTrue();
        record(HANG, false); // they were not searched
        nanos.addAndGet(HangBackoff.SHORTEST.toNanos());
        assertThat(memory.omitted().kernels()).isFalse();
    }

    /** Otherwise a user could end each pause by an environment without kernels. */
    @Test
    void pauseGrowsAlthoughThereWasNothingToSearchInBetween() {
        record(HANG, false);
        nanos.addAndGet(HangBackoff.SHORTEST.toNanos());
        record(Kernels.NONE, false);
        record(HANG, false);
        nanos.addAndGet(HangBackoff.SHORTEST.toNanos());
        assertThat(memory.omitted().kernels()).isTrue();
        nanos.addAndGet(HangBackoff.SHORTEST.toNanos());
        record(FOUND, false);
        record(HANG, false);
        nanos.addAndGet(HangBackoff.SHORTEST.toNanos());
        assertThat(memory.omitted().kernels()).isFalse();
    }

    @Test
    void doesNotAskForTheStatusForAWhileAfterAHang() {
        record(status(Reading.failed(Failure.TIMEOUT, "it hangs")));
        assertThat(memory.omitted().status()).isTrue();
        assertThat(memory.omitted().tool()).isFalse();
        record(status(Reading.failed(Failure.SKIPPED, "it is not asked"))); // which is no answer
        nanos.addAndGet(HangBackoff.SHORTEST.toNanos());
        assertThat(memory.omitted().status()).isFalse();
        record(status(Reading.failed(Failure.TIMEOUT, "it hangs")));
        nanos.addAndGet(HangBackoff.SHORTEST.toNanos());
        assertThat(memory.omitted().status()).isTrue(); // the pause is longer now
        nanos.addAndGet(HangBackoff.SHORTEST.toNanos());
        record(status(Reading.of(new ToolOutput(2, Bytes.EMPTY, Bytes.EMPTY))));
        assertThat(memory.omitted().status()).isFalse();
    }

    private static GpuFacts status(Reading<ToolOutput> answer) {
        return SampleFacts.ALL.gpu().withStatus(answer);
    }

    private void record(GpuFacts gpus) {
        var sample = SampleFacts.ALL;
        record(facts(sample.accounts(), gpus, sample.holders(), sample.liveness()), false);
    }

    @Test
    void leavesOutAHolderThatDoesNotAnswer() {
        var sample = SampleFacts.ALL;
        var silent = SilentProcessesTest.process(9, 7, Reading.of(1000L), Failure.TIMEOUT);
        var holders = new HolderFacts(List.of(), List.of(new HolderFacts.Holder(silent, List.of(0), List.of())), "");
        record(facts(sample.accounts(), holders, sample.liveness()), false);
        assertThat(memory.omitted().processes()).containsExactly(new ProcessId(9, 7));
    }

    @Test
    void remembersTheVersionsOfTheAccounts() {
        assertThat(memory.omitted().passwd()).isEmpty();
        record(accounts(Reading.of(new TextFile("1", null)), Reading.of(new TextFile("2", null))));
        record(accounts(Reading.failed(Failure.DENIED, ""), Reading.of(new TextFile("3", null))));
        assertThat(memory.omitted().passwd()).isEqualTo("1");
        assertThat(memory.omitted().subuid()).isEqualTo("3");
    }

    private static AccountFacts accounts(Reading<TextFile> passwd, Reading<TextFile> subuid) {
        return new AccountFacts(passwd, subuid);
    }

    private void record(AccountFacts accounts) {
        var sample = SampleFacts.ALL;
        record(facts(accounts, sample.holders(), sample.liveness()), false);
    }

    private void record(Kernels kernels, boolean toolHangs) {
        var sample = SampleFacts.ALL;
        var liveness = new LivenessFacts(Reading.of(List.of()), kernels);
        record(facts(sample.accounts(), sample.holders(), liveness), toolHangs);
    }

    private void record(HostFacts facts, boolean toolHangs) {
        memory.record(new Answer.Observed(facts, toolHangs), memory.omitted());
    }

    private static HostFacts facts(AccountFacts accounts, HolderFacts holders, LivenessFacts liveness) {
        return facts(accounts, SampleFacts.ALL.gpu(), holders, liveness);
    }

    private static HostFacts facts(AccountFacts accounts, GpuFacts gpus, HolderFacts holders, LivenessFacts liveness) {
        var sample = SampleFacts.ALL;
        return new HostFacts(
                sample.machine(),
                sample.access(),
                accounts,
                sample.programs(),
                gpus,
                sample.processes(),
                sample.related(),
                sample.relatedOmission(),
                holders,
                sample.earlierState(),
                sample.state(),
                liveness,
                sample.enforcers(),
                sample.verified());
    }
}
