package dev.genv.enforcer.enforcement;

import static dev.genv.enforcer.testsupport.TestTimeouts.HANG;
import static dev.genv.enforcer.testsupport.builder.GpuProcessBuilder.id;
import static dev.genv.enforcer.testsupport.builder.GpuProcessBuilder.process;
import static dev.genv.enforcer.testsupport.builder.HostBuilder.host;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.genv.enforcer.enforcement.CycleReport.CycleResult;
import dev.genv.enforcer.enforcement.host.Outcome;
import dev.genv.enforcer.enforcement.host.Result;
import dev.genv.enforcer.enforcement.host.SafetyLimits;
import dev.genv.enforcer.enforcement.host.ServiceMode;
import dev.genv.enforcer.enforcement.host.Ticker;
import dev.genv.enforcer.enforcement.report.Event;
import dev.genv.enforcer.enforcement.report.Event.EventContent;
import dev.genv.enforcer.enforcement.report.EventLog;
import dev.genv.enforcer.enforcement.report.ViolationRecord;
import dev.genv.enforcer.enforcement.report.ViolationRegistry;
import dev.genv.enforcer.host.UnreachableException;
import dev.genv.enforcer.model.Problem;
import dev.genv.enforcer.model.ProblemCode;
import dev.genv.enforcer.model.Snapshot;
import dev.genv.enforcer.policy.Action;
import dev.genv.enforcer.policy.RuleConfig.Limits;
import dev.genv.enforcer.policy.RuleDefinition.RuleMode;
import dev.genv.enforcer.testsupport.KnownRules;
import dev.genv.enforcer.testsupport.builder.EnforcerConfigBuilder;
import dev.genv.enforcer.testsupport.builder.HostBuilder;
import dev.genv.enforcer.testsupport.fake.FakeHost;
import dev.genv.enforcer.testsupport.fake.FakeTime;
import dev.genv.enforcer.testsupport.fake.NoStore;
import dev.genv.enforcer.testsupport.fake.Records;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** What a cycle does, reports and records, also if it fails, is stopped, or if a host fails or hangs. */
@Timeout(600)
class EnforcerTest {
    private static final HostBuilder STRAY = host().devices(1).with("process 1 on 0");
    private static final Problem REFUSED = new Problem(ProblemCode.HOST_UNREACHABLE, "refused");

    private static final int MANY = 1_500;

    private final FakeTime time = new FakeTime();
    private final ViolationRegistry registry = new ViolationRegistry(10);
    private final EventLog events = new EventLog();
    private final List<CycleReport> reports = new ArrayList<>();
    private final FakeHost node = new FakeHost(STRAY);
    private final CompletableFuture<Boolean> begun = new CompletableFuture<>();
    private final CompletableFuture<Boolean> release = new CompletableFuture<>();
    private Limits limits = Limits.NONE;

    @AfterEach
    void releaseWhatHangs() {
        release.complete(true);
    }

    @Test
    void cycleObservesEvaluatesActsAndRecords() {
        var report = cycle(enforcer(config(node)));

        assertThat(report.result()).isEqualTo(CycleResult.SUCCESS);
        assertThat(report.lines())
                .containsExactly(
                        "Process 1 is not running in a GPU environment",
                        "Terminating process 1 from environment N/A that is running on GPU(s) 0");
        assertThat(node.executed).hasSize(1);
        assertThat(only().mode()).isEqualTo(RuleMode.ENFORCE);
        assertThat(only().actions())
                .singleElement()
                .satisfies(note -> assertThat(note.signal()).isEqualTo("TERM"));
        assertThat(reports).containsExactly(report);
    }

    @Test
    void auditModeExecutesNothing() {
        var report = cycle(enforcer(config(node).mode(ServiceMode.AUDIT)));

        assertThat(node.executed).isEmpty();
        assertThat(report.lines())
                .last()
                .asString()
                .startsWith("Would ")
                .endsWith("(skipped_audit: the service only audits)");
        assertThat(only().mode()).isEqualTo(RuleMode.AUDIT);
        assertThat(only().actions())
                .singleElement()
                .satisfies(note -> assertThat(note.signal()).isNull());
    }

    @Test
    void disablingSignalsDoesNotDisableDetachments() {
        limits = new Limits(0, Map.of());
        node.setSnapshot(host().devices(1).with("env a on 0", "process 2 in a on 0"));
        cycle(enforcer(config(node).signals(false)));

        assertThat(node.executed).singleElement().isInstanceOf(Action.Detach.class);
    }

    @Test
    void eventsTellAViolationFromItsAppearanceToItsResolution() {
        var enforcer = enforcer(config(node));
        cycle(enforcer);
        var id = only().id();
        cycle(enforcer);
        node.setSnapshot(host().devices(1)).setExited(id("here", 1).id());
        cycle(enforcer);

        assertThat(events.after(0, 100).events())
                .extracting(event -> (EventContent.OfViolation) event.content())
                .allSatisfy(each -> assertThat(each.violation().id()).isEqualTo(id))
                .extracting(each -> "%s %s %s"
                        .formatted(
                                each.type(), each.violation().active() ? "active" : "over", outcomes(each.violation())))
                .containsExactly(
                        "violation_opened active []",
                        "action active [SIGNALLED]",
                        "action active [SIGNALLED, EXITED]",
                        "violation_resolved over [SIGNALLED, EXITED]");
    }

    @Test
    void eventsTellWhenAProblemBeginsAndEnds() {
        var enforcer = enforcer(config(refusing(node)));
        assertThat(cycle(enforcer).result()).isEqualTo(CycleResult.INCOMPLETE);
        cycle(enforcer);
        node.setSnapshot(host().devices(1));
        cycle(enforcer);

        assertThat(events.after(0, 100).events())
                .extracting(Event::content)
                .containsExactly(
                        new EventContent.ProblemBegan("here", REFUSED), new EventContent.ProblemEnded("here", REFUSED));
    }

    @Test
    void cycleIsIncompleteIfAnotherNameOfAMachineDoesNotAnswer() {
        var alias = new FakeHost(host("alias")).setMachine("m1");
        var enforcer = enforcer(config(node.setMachine("m1"), alias));
        assertThat(cycle(enforcer).result()).isEqualTo(CycleResult.SUCCESS);
        refusing(alias);
        assertThat(cycle(enforcer).result()).isEqualTo(CycleResult.INCOMPLETE);
    }

    @Test
    void problemsOfRulesAndOfTheTerminationLimitAreReportedForTheirHost() {
        node.setSnapshot(
                host().devices(1).with("env a capacity 4x on 0", "process 1 on 0", "process 2 on 0", "process 3 on 0"));
        var enforcer = enforcer(config(node).safetyLimits(new SafetyLimits(Duration.ZERO, null, 2)));
        var report = cycle(enforcer);

        assertThat(problems(report))
                .anySatisfy(problem -> assertThat(problem.detail()).contains("4x"))
                .anySatisfy(problem -> {
                    assertThat(problem.code()).isEqualTo(ProblemCode.TERMINATION_LIMIT_REACHED);
                    assertThat(problem.detail()).contains("3 processes", "1 wait");
                });
        assertThat(report.isComplete()).isTrue();
        assertThat(problems(cycle(enforcer)))
                .extracting(Problem::code)
                .doesNotContain(ProblemCode.TERMINATION_LIMIT_REACHED);
    }

    @Test
    void deniedSignalMeansThatKillIsMissingOnThatHostAlone() {
        node.answerWith(_ -> new Result(Outcome.DENIED, "needs the capability CAP_KILL"));
        var other = new FakeHost(host("other").devices(1).with("process 2 on 0"));
        var enforcer = enforcer(config(node, other));
        var report = cycle(enforcer);

        assertThat(report.result()).isEqualTo(CycleResult.ACTION_FAILED);
        assertThat(missingPrivileges(report, 0)).containsExactly("KILL");
        assertThat(problems(report))
                .singleElement()
                .satisfies(problem -> assertThat(problem.detail()).startsWith("KILL: "));
        assertThat(missingPrivileges(report, 1)).isEmpty();
        node.setMissingPrivileges("KILL");
        assertThat(missingPrivileges(cycle(enforcer), 0)).as("once").containsExactly("KILL");
    }

    @Test
    void processThatCannotBeReadMeansThatAPrivilegeIsMissingUnlessAKnownOneExplainsIt() {
        node.setSnapshot(host().devices(1).with(process(1).uses(0).unreadable()));
        var enforcer = enforcer(config(node));
        assertThat(missingPrivileges(cycle(enforcer), 0)).containsExactly("SYS_PTRACE", "DAC_READ_SEARCH");
        for (var known : List.of("SYS_PTRACE", "DAC_READ_SEARCH", "APPARMOR")) {
            node.setMissingPrivileges(known);
            assertThat(missingPrivileges(cycle(enforcer), 0)).containsExactly(known);
        }
    }

    /** The process was not signalled: the host verifies it only because of the violation. */
    @Test
    void violationOfAnEndedProcessIsOverOnAHostThatIsNeverObservedCompletely() {
        var enforcer = enforcer(config(node).mode(ServiceMode.AUDIT));
        cycle(enforcer);
        node.setSnapshot(host().devices(1).with("missing EVERY_PROCESS"));
        cycle(enforcer);
        cycle(enforcer);
        assertThat(registry.active()).hasSize(1);

        node.setExited(id("here", 1).id());
        cycle(enforcer);
        assertThat(registry.active()).isEmpty();
    }

    @Test
    void neverRunsTwoCyclesAtATime() throws InterruptedException {
        var enforcer = enforcer(config(node.hang(begun, release)), Ticker.ofSystem());
        var first = Thread.ofVirtual().start(enforcer::runCycle);
        begun.join();
        assertThat(enforcer.isRunning()).isTrue();
        assertThat(enforcer.runCycle()).isEmpty();

        release.complete(true);
        first.join();
        assertThat(enforcer.isRunning()).isFalse();
        assertThat(enforcer.runCycle()).isPresent();
    }

    /** A listener knows the users who get messages of the events. */
    @Test
    void listenersGetTheCycleBeforeItsEventsArePublished() {
        var published = new ArrayList<Long>();
        cycle(enforcer(config(node), time.ticker(), _ -> published.add(events.latest())));
        assertThat(published).containsExactly(0L);
        assertThat(events.latest()).isPositive();
    }

    @Test
    void failingListenerDoesNotAffectTheCycle() {
        var enforcer = enforcer(config(node), time.ticker(), report -> {
            if (report.actions().isEmpty()) {
                throw new OutOfMemoryError("full");
            }
            throw new IllegalStateException("deaf");
        });
        cycle(enforcer);
        node.setSnapshot(host());
        cycle(enforcer);
        assertThat(reports).hasSize(2);
    }

    /** For example because of a large state file. The error is reported, and the next cycle runs. */
    @Test
    void errorAbortsOnlyTheCurrentCycle() {
        var thread = Thread.currentThread();
        var hasBegun = new AtomicBoolean(true);
        var isInTrouble = new AtomicBoolean();
        var enforcer = enforcer(
                config(node),
                new Ticker(
                        () -> {
                            if (Thread.currentThread().equals(thread)
                                    && !hasBegun.compareAndSet(false, true)
                                    && isInTrouble.get()) {
                                throw new OutOfMemoryError("full");
                            }
                            return FakeTime.START;
                        },
                        System::nanoTime));
        hasBegun.set(false); // the start of the service asks for the time too
        isInTrouble.set(true);
        var report = cycle(enforcer);
        assertThat(report.result()).isEqualTo(CycleResult.FAILED);
        assertThat(report.error()).contains("OutOfMemoryError");
        assertThat(reports).containsExactly(report);

        isInTrouble.set(false);
        assertThat(cycle(enforcer).result()).isEqualTo(CycleResult.SUCCESS);
    }

    @Test
    void nothingIsDoneForAnObservationThatIsTooOldAndTheNextCycleDecidesAnew() {
        node.observeWith(() -> {
            time.setWallBack(Duration.ofHours(-1)); // the machine was suspended
            return STRAY.snapshot();
        });
        var enforcer = enforcer(config(node).interval(Duration.ofSeconds(10)));
        var report = cycle(enforcer);
        assertThat(node.executed).isEmpty();
        assertThat(report.result()).isEqualTo(CycleResult.SUCCESS);
        assertThat(report.actions())
                .singleElement()
                .satisfies(record -> assertThat(record.result().outcome()).isEqualTo(Outcome.SKIPPED_STALE));

        node.setSnapshot(STRAY);
        cycle(enforcer);
        assertThat(node.executed).hasSize(1);
    }

    @Test
    void hangingHostTimesOutAndIsSkippedUntilItAnswers() {
        var hanging = new FakeHost(host("hanging")).hang(begun, release);
        var enforcer = enforcer(config(hanging, node).observationTimeout(Duration.ofMillis(200)), Ticker.ofSystem());

        assertThat(problem(enforcer)).isEqualTo("no answer in time");
        await("its task may not have begun within the time limit")
                .untilAsserted(() -> assertThat(problem(enforcer))
                        .isEqualTo("still busy with an earlier cycle, so it was left out of this one; before"
                                + " that: no answer in time"));
        await("the other host is enforced, however slow this machine is").untilAsserted(() -> {
            enforcer.runCycle();
            assertThat(node.executed).hasSize(1);
        });

        release.complete(true);
        hanging.setSnapshot(host("hanging"));
        await().untilAsserted(() -> assertThat(cycle(enforcer).result()).isEqualTo(CycleResult.SUCCESS));
    }

    /** Its child process would outlive the service. */
    @Test
    void stoppedServiceIsBusyUntilTheTaskOfAnAbandonedHostEndsAndActsNoMore() throws InterruptedException {
        var enforcer = enforcer(config(node.hang(begun, release)));
        var cycle = Thread.ofPlatform().daemon().start(enforcer::runCycle);
        begun.join();
        enforcer.stop();
        cycle.join();
        assertThat(enforcer.isRunning()).isFalse();
        assertThat(enforcer.isBusy()).isTrue();
        release.complete(true);
        await().until(() -> !enforcer.isBusy());

        assertThat(cycle(enforcer).lines()).last().asString().endsWith("(failed: the service is being stopped)");
        assertThat(node.executed).isEmpty();
    }

    @Test
    void everyResultOfManyActionsCounts() {
        var many = host().devices(1);
        IntStream.rangeClosed(1, MANY).forEach(pid -> many.with("process %d on 0".formatted(pid)));
        node.setSnapshot(many);
        var enforcer = enforcer(config(node));

        assertThat(cycle(enforcer).actions())
                .extracting(record -> record.result().outcome())
                .hasSize(MANY)
                .containsOnly(Outcome.SIGNALLED);
        assertThat(cycle(enforcer).actions()).isEmpty();
        assertThat(node.executed).hasSize(MANY);
    }

    @Test
    void everyResultOfManyHostsCounts() {
        var ofEach = 50;
        var hosts = IntStream.range(0, MANY / ofEach)
                .mapToObj(number -> {
                    var many = host("gpu-" + number).devices(1);
                    IntStream.rangeClosed(1, ofEach).forEach(pid -> many.with("process %d on 0".formatted(pid)));
                    return new FakeHost(many);
                })
                .toArray(FakeHost[]::new);
        var enforcer = enforcer(config(hosts).remote(true));

        assertThat(cycle(enforcer).actions())
                .extracting(record -> record.result().outcome())
                .hasSize(MANY)
                .containsOnly(Outcome.SIGNALLED);
        assertThat(cycle(enforcer).actions()).isEmpty();
        assertThat(hosts).allSatisfy(each -> assertThat(each.executed).hasSize(ofEach));
    }

    /** The signal was sent, if late: another one would be the second. */
    @Test
    void lateActionIsNotRepeated() {
        node.answerWith(this::signalAfterRelease);
        var enforcer = enforcer(config(node).actionTimeout(Duration.ofMillis(200)), Ticker.ofSystem());

        assertThat(cycle(enforcer).result()).isEqualTo(CycleResult.ACTION_FAILED);
        release.complete(true);
        await().untilAsserted(() -> assertThat(cycle(enforcer).result()).isEqualTo(CycleResult.SUCCESS));
        assertThat(node.executed).hasSize(1);
    }

    /** Otherwise process 1 would not count as leaving, and the larger one would be terminated, too. */
    @Test
    void lateActionIsNoFailureForTheTerminationLimit() {
        node.setSnapshot(host().devices(1)
                .with("env a capacity 1000mi on 0", "process 1 in a on 0=400mi", "process 2 in a on 0=900mi"));
        node.answerWith(this::signalAfterRelease);
        var enforcer = enforcer(
                config(node)
                        .actionTimeout(Duration.ofMillis(200))
                        .safetyLimits(new SafetyLimits(Duration.ZERO, null, 1)),
                Ticker.ofSystem());

        assertThat(cycle(enforcer).result()).isEqualTo(CycleResult.ACTION_FAILED);
        cycle(enforcer);
        release.complete(true);
        await().untilAsserted(() -> {
            cycle(enforcer);
            assertThat(outcomes(only())).contains(Outcome.SIGNALLED);
        });
        cycle(enforcer);
        assertThat(node.executed)
                .singleElement()
                .satisfies(action ->
                        assertThat(((Action.Terminate) action).process().pid()).isEqualTo(1));
    }

    /** It answers every observation and executes nothing: otherwise the other hosts would wait for it in every cycle. */
    @Test
    void waitsOnlyBrieflyForHostWhoseLastActionsFailed() {
        var useless = new FakeHost(host("useless").devices(1).with("process 2 on 0")).answerWith(_ -> {
            throw new IllegalStateException("no");
        });
        var enforcer =
                enforcer(config(node, useless).remote(true).actionTimeout(Duration.ofSeconds(30)), Ticker.ofSystem());
        enforcer.runCycle();
        useless.answerWith(this::signalAfterRelease);
        useless.setSnapshot(host("useless").devices(1).with("process 2 on 0", "process 3 on 0"));
        node.setSnapshot(host().devices(1));

        assertThat(cycle(enforcer).actions())
                .extracting(record -> record.result().detail())
                .as("process 2 was perhaps signalled")
                .containsExactly(
                        "no answer yet; before that: java.lang.IllegalStateException: no; it may have been executed");
        release.complete(true);
        await("what came of it in the end is known").untilAsserted(() -> {
            enforcer.runCycle();
            assertThat(registry.find(entry -> "useless".equals(entry.violation().host()), 1))
                    .singleElement()
                    .satisfies(entry -> assertThat(outcomes(entry)).contains(Outcome.SIGNALLED));
        });
        assertThat(useless.executed).hasSize(2);
    }

    private Result signalAfterRelease(Action action) {
        assertThat(action).isInstanceOf(Action.Terminate.class);
        release.join();
        return Result.of(Outcome.SIGNALLED);
    }

    private EnforcerConfigBuilder config(FakeHost... hosts) {
        return EnforcerConfigBuilder.enforcerConfig(hosts)
                .rules(
                        Map.of(
                                KnownRules.NON_ENV_PROCESSES, RuleMode.ENFORCE,
                                KnownRules.ENV_MEMORY, RuleMode.ENFORCE,
                                KnownRules.MAX_DEVICES_PER_USER, RuleMode.ENFORCE),
                        limits)
                .observationTimeout(HANG);
    }

    private Enforcer enforcer(EnforcerConfigBuilder config) {
        return enforcer(config, time.ticker());
    }

    private Enforcer enforcer(EnforcerConfigBuilder config, Ticker ticker, CycleListener... listeners) {
        var all = new ArrayList<>(List.of(listeners));
        all.add(reports::add);
        var records = new Records(registry, events, new NoStore(), List.of());
        return EnforcerFactory.create(config.build(), records, ticker, all);
    }

    private static CycleReport cycle(Enforcer enforcer) {
        return enforcer.runCycle().orElseThrow();
    }

    private static FakeHost refusing(FakeHost host) {
        return host.observeWith(() -> {
            throw new UnreachableException(REFUSED.code(), REFUSED.detail());
        });
    }

    private ViolationRecord only() {
        var all = registry.find(_ -> true, 100);
        assertThat(all).hasSize(1);
        return all.getFirst();
    }

    private static List<Outcome> outcomes(ViolationRecord entry) {
        return entry.actions().stream().map(ViolationRecord.ActionNote::outcome).toList();
    }

    private static List<Problem> problems(CycleReport report) {
        return report.fleet().snapshots().getFirst().problems();
    }

    private static List<String> missingPrivileges(CycleReport report, int host) {
        return report.fleet().snapshots().get(host).details().missingPrivileges();
    }

    /** The problem of the first host that was not reached. */
    private static String problem(Enforcer enforcer) {
        return cycle(enforcer).fleet().snapshots().stream()
                .filter(host -> !host.isReached())
                .map(Snapshot::problems)
                .findFirst()
                .orElseThrow()
                .getFirst()
                .detail();
    }
}
