package dev.genv.enforcer.enforcement;

import static dev.genv.enforcer.testsupport.builder.GpuProcessBuilder.process;
import static dev.genv.enforcer.testsupport.builder.HostBuilder.host;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.genv.enforcer.enforcement.CycleReport.CycleResult;
import dev.genv.enforcer.enforcement.host.Outcome;
import dev.genv.enforcer.enforcement.host.Result;
import dev.genv.enforcer.enforcement.host.ServiceMode;
import dev.genv.enforcer.enforcement.host.Ticker;
import dev.genv.enforcer.testsupport.builder.EnforcerConfigBuilder;
import dev.genv.enforcer.testsupport.fake.FakeHost;
import dev.genv.enforcer.testsupport.fake.NoStore;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** A host that fails or hangs does not affect the others. */
class SlowHostTest extends EnforcerFixture {
    private final CompletableFuture<Boolean> begun = new CompletableFuture<>();
    private final CompletableFuture<Boolean> release = new CompletableFuture<>();

    @Test
    void hangingHostTimesOutAndIsSkippedUntilItAnswers() {
        observationTimeout = Duration.ofMillis(200);
        var hanging = new FakeHost(host("hanging")).hang(begun, release);
        var fine = new FakeHost(host("fine").devices(1).with(process(1).uses(0)));
        var enforcer = withRealClock(setup(ServiceMode.ENFORCE, true, hanging, fine));

        assertThat(problem(enforcer)).isEqualTo("no answer in time");
        await("its task may not have begun within the time limit")
                .untilAsserted(() -> assertThat(problem(enforcer))
                        .isEqualTo("still busy with an earlier cycle, so it was left out of this one; before"
                                + " that: no answer in time"));
        await("the other host is enforced, however slow this machine is").untilAsserted(() -> {
            enforcer.runCycle();
            assertThat(fine.executed).hasSize(1);
        });

        release.complete(true);
        hanging.setSnapshot(host("hanging"));
        await().untilAsserted(() ->
                assertThat(enforcer.runCycle().orElseThrow().result()).isEqualTo(CycleResult.SUCCESS));
    }

    /** Its child process would outlive the service. */
    @Test
    @Timeout(600)
    void isBusyUntilTheTaskOfAnAbandonedHostEnds() throws InterruptedException {
        var enforcer = enforcer(ServiceMode.ENFORCE, new FakeHost(host()).hang(begun, release));
        var cycle = Thread.ofPlatform().daemon().start(enforcer::runCycle);
        begun.join();
        enforcer.stop();
        cycle.join();
        assertThat(enforcer.isRunning()).isFalse();
        assertThat(enforcer.isBusy()).isTrue();
        release.complete(true);
        await().until(() -> !enforcer.isBusy());
    }

    /** The signal was sent, if late: another one would be the second. */
    @Test
    void lateActionIsNotRepeated() {
        var node = new FakeHost(host().devices(1).with(process(1).uses(0))).answerWith(_ -> {
            release.join();
            return Result.of(Outcome.SIGNALLED);
        });
        var enforcer = withRealClock(setup(ServiceMode.ENFORCE, true, node).actionTimeout(Duration.ofMillis(200)));

        assertThat(enforcer.runCycle().orElseThrow().result()).isEqualTo(CycleResult.ACTION_FAILED);
        release.complete(true);

        await().untilAsserted(() ->
                assertThat(enforcer.runCycle().orElseThrow().result()).isEqualTo(CycleResult.SUCCESS));
        assertThat(node.executed).hasSize(1);
    }

    /** It answers every observation and executes nothing: otherwise the other hosts would wait for it in every cycle. */
    @Test
    @Timeout(600)
    void waitsOnlyBrieflyForHostWhoseLastActionsFailed() throws InterruptedException {
        var stray = host("fine").devices(1).with(process(1).uses(0));
        var fine = new FakeHost(stray);
        var useless = new FakeHost(host("useless").devices(1).with(process(2).uses(0))).answerWith(_ -> {
            throw new IllegalStateException("no");
        });
        var enforcer = withRealClock(
                setup(ServiceMode.ENFORCE, true, fine, useless).remote(true).actionTimeout(Duration.ofSeconds(30)));
        enforcer.runCycle();
        useless.answerWith(_ -> {
            release.join();
            return Result.of(Outcome.SIGNALLED);
        });
        fine.setSnapshot(host("fine").devices(1));

        var report = enforcer.runCycle().orElseThrow();

        assertThat(report.actions())
                .extracting(record -> record.result().detail())
                .containsExactly("no answer yet; before that: java.lang.IllegalStateException: no");
        release.complete(true);
        await().untilAsserted(() -> {
            enforcer.runCycle();
            assertThat(useless.executed)
                    .as("and what came of it in the end is known")
                    .hasSize(2);
        });
        assertThat(registry.find(entry -> "useless".equals(entry.violation().host()), 1)
                        .getFirst()
                        .actions())
                .extracting(note -> note.outcome())
                .contains(Outcome.SIGNALLED);
    }

    private Enforcer withRealClock(EnforcerConfigBuilder config) {
        return EnforcerFactory.create(config.build(), NoStore.records(registry), Ticker.ofSystem(), List.of());
    }
}
