package dev.genv.enforcer.enforcement;

import static dev.genv.enforcer.testsupport.EnvBuilder.env;
import static dev.genv.enforcer.testsupport.GpuProcessBuilder.id;
import static dev.genv.enforcer.testsupport.GpuProcessBuilder.process;
import static dev.genv.enforcer.testsupport.HostBuilder.host;
import static dev.genv.enforcer.testsupport.TestTimeouts.HANG;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.genv.enforcer.enforcement.action.ServiceMode;
import dev.genv.enforcer.enforcement.clock.Ticker;
import dev.genv.enforcer.enforcement.host.Outcome;
import dev.genv.enforcer.enforcement.host.Result;
import dev.genv.enforcer.enforcement.journal.Journal;
import dev.genv.enforcer.enforcement.journal.JournalEntry;
import dev.genv.enforcer.model.GpuProcess;
import dev.genv.enforcer.model.SnapshotPart;
import dev.genv.enforcer.policy.DeviceLimits;
import dev.genv.enforcer.policy.plan.Action;
import dev.genv.enforcer.policy.plan.RuleMode;
import dev.genv.enforcer.policy.plan.RuleName;
import dev.genv.enforcer.testsupport.FakeHost;
import dev.genv.enforcer.testsupport.FakeTime;
import dev.genv.enforcer.testsupport.SetupBuilder;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

class EnforcerTest {
    private final FakeTime time = new FakeTime();
    private final Journal journal = new Journal(10);
    private final List<CycleReport> reports = new ArrayList<>();
    private DeviceLimits limits = DeviceLimits.NONE;
    private Duration observationTimeout = HANG;

    @Test
    void cycleObservesEvaluatesActsAndRecords() {
        var node = new FakeHost(host().devices(1).with(process(1).uses(0)));

        var report = enforcer(ServiceMode.ENFORCE, node).runCycle().orElseThrow();

        assertThat(report.result()).isEqualTo(CycleResult.SUCCESS);
        assertThat(report.lines())
                .containsExactly(
                        "Process 1 is not running in a GPU environment",
                        "Terminating process 1 from environment N/A that is running on GPU(s) 0");
        assertThat(node.executed).hasSize(1);
        assertThat(all()).singleElement().satisfies(entry -> {
            assertThat(entry.active()).isTrue();
            assertThat(entry.mode()).isEqualTo(RuleMode.ENFORCE);
            assertThat(entry.actions()).singleElement().satisfies(note -> {
                assertThat(note.outcome()).isEqualTo(Outcome.SIGNALLED);
                assertThat(note.signal()).isEqualTo("TERM");
            });
        });
        assertThat(reports).containsExactly(report);
    }

    @Test
    void signalsAProcessOnlyOnce() {
        var node = new FakeHost(host().devices(1).with(process(1).uses(0)));
        var enforcer = enforcer(ServiceMode.ENFORCE, node);

        for (var cycle = 0; cycle < 20; cycle++) {
            enforcer.runCycle();
            time.pass(Duration.ofSeconds(10)); // also long after the time in which it counts as gone
        }

        assertThat(node.executed).hasSize(1);
        assertThat(all()).singleElement().satisfies(entry -> {
            assertThat(entry.cycles()).isEqualTo(20);
            assertThat(entry.actions()).hasSize(1);
        });
    }

    @Test
    void signalsAProcessOnlyOnceEvenIfUnobservedMeanwhile() {
        var stray = host().devices(1).with(process(1).uses(0));
        var node = new FakeHost(stray);
        var enforcer = enforcer(ServiceMode.ENFORCE, node);
        enforcer.runCycle();
        node.setSnapshot(host().devices(1));
        enforcer.runCycle();
        time.pass(Duration.ofMinutes(10));
        node.setSnapshot(stray);
        enforcer.runCycle();

        assertThat(node.executed).hasSize(1);
    }

    @Test
    void signalsANewProcessWithTheSamePid() {
        var node = new FakeHost(host().devices(1).with(process(1).uses(0)));
        var enforcer = enforcer(ServiceMode.ENFORCE, node);
        enforcer.runCycle();

        node.setSnapshot(host().devices(1).with(process(1).startedLaterBy(5).uses(0)));
        enforcer.runCycle();

        assertThat(node.executed).hasSize(2);
        assertThat(all()).extracting(JournalEntry::active).containsExactlyInAnyOrder(true, false);
    }

    @Test
    void retriesDeniedSignals() {
        var node = new FakeHost(host().devices(1).with(process(1).uses(0)))
                .answerWith(action -> Result.of(Outcome.DENIED));
        var enforcer = enforcer(ServiceMode.ENFORCE, node);
        enforcer.runCycle();
        var report = enforcer.runCycle().orElseThrow();

        assertThat(node.executed).hasSize(2);
        assertThat(report.result()).isEqualTo(CycleResult.ACTION_FAILED);
        assertThat(report.lines()).endsWith("Not enough permissions to terminate process 1");
        assertThat(all().getFirst().actions()).as("a repetition is no news").hasSize(1);
    }

    /** Two processes, one of which is enough: while the asked one still holds its memory, the other one is safe. */
    @Test
    void memoryOfRecentlySignalledProcessCountsAsFreed() {
        var full = host().devices(1)
                .with(env("a").capacity("1000mi").attached(0))
                .with(
                        process(1).inEnvironment("a").uses(0, "600mi"),
                        process(2).inEnvironment("a").uses(0, "700mi"));
        var node = new FakeHost(full);
        var enforcer = enforcer(ServiceMode.ENFORCE, node);
        enforcer.runCycle();
        time.pass(Duration.ofSeconds(59));
        enforcer.runCycle();

        assertThat(terminated(node)).containsExactly(1);
    }

    @Test
    void executesNothingInAuditMode() {
        limits = new DeviceLimits(0, Map.of());
        var node = new FakeHost(host().devices(1)
                .with(env("a").attached(0))
                .with(process(1).uses(0), process(2).inEnvironment("a").uses(0)));

        var report = enforcer(ServiceMode.AUDIT, node).runCycle().orElseThrow();

        assertThat(node.executed).isEmpty();
        assertThat(report.lines())
                .containsExactly(
                        "Process 1 is not running in a GPU environment",
                        "User raz is using 1 devices which is 1 more than the maximum allowed",
                        "Terminating process 1 from environment N/A that is running on GPU(s) 0"
                                + " (skipped_audit: the service only audits)",
                        "Terminating process 2 from environment a that is running on GPU(s) 0"
                                + " (skipped_audit: the service only audits)",
                        "Detaching environment a of user raz from device 0"
                                + " (skipped_audit: the service only audits)");
        assertThat(all()).allSatisfy(entry -> {
            assertThat(entry.mode()).isEqualTo(RuleMode.AUDIT);
            assertThat(entry.actions()).allSatisfy(note -> {
                assertThat(note.outcome()).isEqualTo(Outcome.SKIPPED_AUDIT);
                assertThat(note.signal()).isNull();
            });
        });
    }

    @Test
    void disablingSignalsDoesNotDisableDetachments() {
        limits = new DeviceLimits(0, Map.of());
        var node = new FakeHost(host().devices(1)
                .with(env("a").attached(0))
                .with(process(2).inEnvironment("a").uses(0)));

        enforcer(ServiceMode.ENFORCE, false, node).runCycle();

        assertThat(node.executed).singleElement().isInstanceOf(Action.Detach.class);
    }

    @Test
    void failingHostDoesNotAffectOthers() {
        var broken = new FakeHost(host("broken")).observeWith(() -> {
            throw new IllegalStateException("no");
        });
        var fine = new FakeHost(host("fine").devices(1).with(process(1).uses(0)));

        var report = enforcer(ServiceMode.ENFORCE, broken, fine).runCycle().orElseThrow();

        assertThat(report.result()).isEqualTo(CycleResult.INCOMPLETE);
        assertThat(report.isComplete()).isFalse();
        assertThat(fine.executed).hasSize(1);
        assertThat(report.hosts().getFirst().reached()).isFalse();
        assertThat(report.hosts().getFirst().problems().getFirst().detail()).contains("no");
    }

    @Test
    void hangingHostTimesOutAndIsSkippedUntilItAnswers() {
        observationTimeout = Duration.ofMillis(200);
        var release = new CountDownLatch(1);
        var hanging = new FakeHost(host("hanging"));
        hanging.observeWith(() -> {
            awaitUninterruptibly(release);
            return host("hanging").snapshot();
        });
        var fine = new FakeHost(host("fine").devices(1).with(process(1).uses(0)));
        var enforcer = new Enforcer(
                setup(ServiceMode.ENFORCE, true, hanging, fine).build(), journal, Ticker.ofSystem(), List.of());

        assertThat(problem(enforcer)).isEqualTo("no answer in time");
        assertThat(problem(enforcer))
                .isEqualTo(
                        "still busy with an earlier cycle, so it was left out of this one; before that: no answer in time");
        await("what is done elsewhere meanwhile, however slow this machine is").untilAsserted(() -> {
            enforcer.runCycle();
            assertThat(fine.executed).hasSize(1);
        });

        release.countDown();
        hanging.setSnapshot(host("hanging"));
        await().untilAsserted(() ->
                assertThat(enforcer.runCycle().orElseThrow().result()).isEqualTo(CycleResult.SUCCESS));
    }

    /** The signal was sent, if late: another one would be the second. */
    @Test
    void lateActionIsNotRepeated() {
        var release = new CountDownLatch(1);
        var node = new FakeHost(host().devices(1).with(process(1).uses(0))).answerWith(_ -> {
            awaitUninterruptibly(release);
            return Result.of(Outcome.SIGNALLED);
        });
        var shortTimeoutConnection = setup(ServiceMode.ENFORCE, true, node)
                .actionTimeout(Duration.ofMillis(200))
                .build();
        var enforcer = new Enforcer(shortTimeoutConnection, journal, Ticker.ofSystem(), List.of());

        assertThat(enforcer.runCycle().orElseThrow().result()).isEqualTo(CycleResult.ACTION_FAILED);
        release.countDown();

        await().untilAsserted(() ->
                assertThat(enforcer.runCycle().orElseThrow().result()).isEqualTo(CycleResult.SUCCESS));
        assertThat(node.executed).hasSize(1);
    }

    /** It answers every look and does nothing: else it would cost the others the time for it in every cycle. */
    @Test
    @Timeout(60)
    void waitsOnlyBrieflyForHostWhoseLastActionsFailed() throws InterruptedException {
        var stray = host("fine").devices(1).with(process(1).uses(0));
        var fine = new FakeHost(stray);
        var release = new CountDownLatch(1);
        var useless = new FakeHost(host("useless").devices(1).with(process(2).uses(0))).answerWith(_ -> {
            throw new IllegalStateException("no");
        });
        var enforcer = new Enforcer(
                setup(ServiceMode.ENFORCE, true, fine, useless)
                        .remote(true)
                        .actionTimeout(Duration.ofSeconds(10))
                        .build(),
                journal,
                Ticker.ofSystem(),
                List.of());
        enforcer.runCycle();
        useless.answerWith(_ -> {
            awaitUninterruptibly(release);
            return Result.of(Outcome.SIGNALLED);
        });
        fine.setSnapshot(host("fine").devices(1));

        var report = enforcer.runCycle().orElseThrow();

        assertThat(report.actions())
                .extracting(record -> record.result().detail())
                .containsExactly("no answer yet; before that: java.lang.IllegalStateException: no");
        release.countDown();
        await().untilAsserted(() -> {
            enforcer.runCycle();
            assertThat(useless.executed)
                    .as("and what came of it in the end is known")
                    .hasSize(2);
        });
    }

    @Test
    void neverRunsTwoCyclesAtATime() throws InterruptedException {
        var looking = new CountDownLatch(1);
        var release = new CountDownLatch(1);
        var node = new FakeHost(host()).observeWith(() -> {
            looking.countDown();
            release.await();
            return host().snapshot();
        });
        var enforcer =
                new Enforcer(setup(ServiceMode.ENFORCE, true, node).build(), journal, Ticker.ofSystem(), List.of());
        var first = Thread.ofVirtual().start(enforcer::runCycle);
        looking.await();

        assertThat(enforcer.isRunning()).isTrue();
        assertThat(enforcer.runCycle()).isEmpty();

        release.countDown();
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
        var enforcer = new Enforcer(
                setup(ServiceMode.ENFORCE, true, node).build(),
                journal,
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

    /** Too large a state file, say: what runs out of memory has to be told, and the next cycle comes. */
    @Test
    void errorAbortsOnlyTheCurrentCycle() {
        var trouble = new AtomicBoolean(true);
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
        var enforcer = new Enforcer(
                setup(ServiceMode.ENFORCE, true, new FakeHost(host())).build(), journal, ticker, List.of(reports::add));

        var report = enforcer.runCycle().orElseThrow();
        assertThat(report.result()).isEqualTo(CycleResult.FAILED);
        assertThat(report.error()).contains("OutOfMemoryError");
        assertThat(reports).containsExactly(report);

        trouble.set(false);
        assertThat(enforcer.runCycle().orElseThrow().result()).isEqualTo(CycleResult.SUCCESS);
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
        assertThat(journal.active()).hasSize(2);

        node.setExited(id("here", 1).id());
        enforcer.runCycle();
        assertThat(all())
                .filteredOn(JournalEntry::active)
                .singleElement()
                .satisfies(entry -> assertThat(entry.violation().processes())
                        .extracting(GpuProcess::pid)
                        .containsExactly(2));
    }

    @Test
    void problemFoundByARuleIsReportedForItsHost() {
        var node = new FakeHost(host().devices(1).with(env("a").capacity("4x").attached(0)));

        var report = enforcer(ServiceMode.ENFORCE, node).runCycle().orElseThrow();

        assertThat(report.hosts().getFirst().problems())
                .anySatisfy(problem -> assertThat(problem.detail()).contains("4x"));
        assertThat(report.isComplete()).isTrue();
    }

    private List<JournalEntry> all() {
        return journal.find(entry -> true, 100);
    }

    private static List<Integer> terminated(FakeHost node) {
        return node.executed.stream()
                .map(action -> ((Action.Terminate) action).process().pid())
                .toList();
    }

    private static String problem(Enforcer enforcer) {
        return enforcer.runCycle().orElseThrow().hosts().stream()
                .filter(host -> !host.reached())
                .findFirst()
                .orElseThrow()
                .problems()
                .getFirst()
                .detail();
    }

    private Enforcer enforcer(ServiceMode mode, FakeHost... hosts) {
        return enforcer(mode, true, hosts);
    }

    private Enforcer enforcer(ServiceMode mode, boolean signals, FakeHost... hosts) {
        return new Enforcer(setup(mode, signals, hosts).build(), journal, time.ticker(), List.of(reports::add));
    }

    private SetupBuilder setup(ServiceMode mode, boolean signals, FakeHost... hosts) {
        return SetupBuilder.setup(hosts)
                .rules(
                        Map.of(
                                RuleName.NON_ENV_PROCESSES, RuleMode.ENFORCE,
                                RuleName.ENV_MEMORY, RuleMode.ENFORCE,
                                RuleName.MAX_DEVICES_PER_USER, RuleMode.ENFORCE),
                        limits)
                .mode(mode)
                .signals(signals)
                .observationTimeout(observationTimeout);
    }

    private static void awaitUninterruptibly(CountDownLatch latch) {
        var interrupted = false;
        while (true) {
            try {
                latch.await();
                break;
            } catch (InterruptedException e) {
                interrupted = true;
            }
        }
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
    }
}
