package dev.genv.enforcer.enforcement;

import static dev.genv.enforcer.testsupport.builder.GpuProcessBuilder.id;
import static dev.genv.enforcer.testsupport.builder.GpuProcessBuilder.process;
import static dev.genv.enforcer.testsupport.builder.HostBuilder.host;
import static org.assertj.core.api.Assertions.assertThat;

import dev.genv.enforcer.enforcement.CycleReport.CycleResult;
import dev.genv.enforcer.enforcement.host.ServiceMode;
import dev.genv.enforcer.enforcement.host.Ticker;
import dev.genv.enforcer.enforcement.host.UnreachableException;
import dev.genv.enforcer.enforcement.record.ViolationRecord;
import dev.genv.enforcer.model.GpuProcess;
import dev.genv.enforcer.model.ProblemCode;
import dev.genv.enforcer.model.SnapshotPart;
import dev.genv.enforcer.testsupport.fake.FakeHost;
import dev.genv.enforcer.testsupport.fake.FakeTime;
import dev.genv.enforcer.testsupport.fake.NoStore;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.Test;

/** Cycles that fail, are stopped, or observe a part only. */
class IncompleteCycleTest extends EnforcerFixture {
    @Test
    void neverRunsTwoCyclesAtATime() throws InterruptedException {
        var begun = new CompletableFuture<Boolean>();
        var release = new CompletableFuture<Boolean>();
        var node = new FakeHost(host()).hang(begun, release);
        var enforcer = EnforcerFactory.create(
                setup(ServiceMode.ENFORCE, true, node).build(),
                NoStore.records(registry),
                Ticker.ofSystem(),
                List.of());
        var first = Thread.ofVirtual().start(enforcer::runCycle);
        begun.join();

        assertThat(enforcer.isRunning()).isTrue();
        assertThat(enforcer.runCycle()).isEmpty();

        release.complete(true);
        first.join();
        assertThat(enforcer.isRunning()).isFalse();
        assertThat(enforcer.runCycle()).isPresent();
    }

    @Test
    void startsNoActionAfterStop() {
        var node = new FakeHost(host().devices(1).with(process(1).uses(0)));
        var enforcer = enforcer(ServiceMode.ENFORCE, node);
        enforcer.stop();

        var report = enforcer.runCycle().orElseThrow();

        assertThat(node.executed).isEmpty();
        assertThat(report.lines().getLast()).endsWith("(failed: the service is being stopped)");
    }

    @Test
    void failingListenerDoesNotAffectTheCycle() {
        var node = new FakeHost(host());
        var enforcer = EnforcerFactory.create(
                setup(ServiceMode.ENFORCE, true, node).build(),
                NoStore.records(registry),
                time.ticker(),
                List.of(
                        report -> {
                            throw new IllegalStateException("deaf");
                        },
                        report -> {
                            throw new OutOfMemoryError("full");
                        },
                        reports::add));

        assertThat(enforcer.runCycle()).isPresent();
        assertThat(reports).hasSize(1);
    }

    /** For example because of a large state file. The error is reported, and the next cycle runs. */
    @Test
    void errorAbortsOnlyTheCurrentCycle() {
        var trouble = new AtomicBoolean();
        var cyclesThread = Thread.currentThread();
        var begun = new AtomicBoolean();
        var ticker = new Ticker(
                () -> {
                    if (Thread.currentThread().equals(cyclesThread)
                            && !begun.compareAndSet(false, true)
                            && trouble.get()) {
                        throw new OutOfMemoryError("full");
                    }
                    return FakeTime.START;
                },
                System::nanoTime);
        var enforcer = EnforcerFactory.create(
                setup(ServiceMode.ENFORCE, true, new FakeHost(host())).build(),
                NoStore.records(registry),
                ticker,
                List.of(reports::add));
        begun.set(false); // the start of the service asks for the time too
        trouble.set(true);

        var report = enforcer.runCycle().orElseThrow();
        assertThat(report.result()).isEqualTo(CycleResult.FAILED);
        assertThat(report.error()).contains("OutOfMemoryError");
        assertThat(reports).containsExactly(report);

        trouble.set(false);
        assertThat(enforcer.runCycle().orElseThrow().result()).isEqualTo(CycleResult.SUCCESS);
    }

    @Test
    void otherNameOfAMachineThatDoesNotAnswerMakesTheCycleIncomplete() {
        var alias = new FakeHost(host("gpu-2")).setMachine("the same");
        var enforcer = enforcer(ServiceMode.AUDIT, new FakeHost(host("gpu-1")).setMachine("the same"), alias);
        assertThat(enforcer.runCycle().orElseThrow().result()).isEqualTo(CycleResult.SUCCESS);

        alias.observeWith(() -> {
            throw new UnreachableException(ProblemCode.HOST_UNREACHABLE, "refused");
        });
        assertThat(enforcer.runCycle().orElseThrow().result()).isEqualTo(CycleResult.INCOMPLETE);
    }

    @Test
    void incompleteObservationResolvesNoViolation() {
        var node = new FakeHost(host().devices(1).with(process(1).uses(0)));
        var enforcer = enforcer(ServiceMode.AUDIT, node);
        enforcer.runCycle();

        node.setSnapshot(host().missing(SnapshotPart.PROCESSES));
        enforcer.runCycle();
        assertThat(all().getFirst().active()).isTrue();

        node.setSnapshot(host());
        enforcer.runCycle();
        assertThat(all().getFirst().active()).isFalse();
    }

    /** The process was not signalled: the host verifies it only because of the violation. */
    @Test
    void resolvesViolationsOfEndedProcessesOnAHostThatIsNeverObservedCompletely() {
        var node = new FakeHost(
                host().devices(1).with(process(1).uses(0), process(2).uses(0)));
        var enforcer = enforcer(ServiceMode.AUDIT, node);
        enforcer.runCycle();
        node.setSnapshot(host().devices(1).missing(SnapshotPart.EVERY_PROCESS));
        enforcer.runCycle();
        enforcer.runCycle();
        assertThat(registry.active()).hasSize(2);

        node.setExited(id("here", 1).id());
        enforcer.runCycle();
        assertThat(all())
                .filteredOn(ViolationRecord::active)
                .singleElement()
                .satisfies(entry -> assertThat(entry.violation().processes())
                        .extracting(GpuProcess::pid)
                        .containsExactly(2));
    }
}
