package dev.genv.enforcer.store;

import static dev.genv.enforcer.testsupport.builder.EnvBuilder.env;
import static dev.genv.enforcer.testsupport.builder.GpuProcessBuilder.process;
import static dev.genv.enforcer.testsupport.builder.HostBuilder.host;
import static org.assertj.core.api.Assertions.assertThat;

import dev.genv.enforcer.enforcement.host.Host.Remembered;
import dev.genv.enforcer.enforcement.host.Outcome;
import dev.genv.enforcer.enforcement.host.SafetyLimits;
import dev.genv.enforcer.enforcement.host.ServiceMode;
import dev.genv.enforcer.enforcement.report.Event;
import dev.genv.enforcer.enforcement.report.Event.EventContent;
import dev.genv.enforcer.enforcement.report.SavedState;
import dev.genv.enforcer.enforcement.report.SavedState.SavedKind;
import dev.genv.enforcer.enforcement.report.Store;
import dev.genv.enforcer.enforcement.report.Store.CycleCommit;
import dev.genv.enforcer.enforcement.report.Store.Restored;
import dev.genv.enforcer.enforcement.report.ViolationRecord;
import dev.genv.enforcer.observation.AccountReader.KnownAccounts;
import dev.genv.enforcer.observation.GroupReader.KnownGroups;
import dev.genv.enforcer.observation.NameService.Found;
import dev.genv.enforcer.policy.Action;
import dev.genv.enforcer.policy.Action.Signal;
import dev.genv.enforcer.policy.RuleDefinition.RuleMode;
import dev.genv.enforcer.testsupport.KnownRules;
import dev.genv.enforcer.testsupport.builder.HostBuilder;
import dev.genv.enforcer.testsupport.fake.FakeHost;
import dev.genv.enforcer.testsupport.fake.FakeTime;
import java.io.IOException;
import java.lang.reflect.Proxy;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Random;
import java.util.Set;
import java.util.function.IntPredicate;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** A restart is the same as a suspension between two cycles. */
class RestartTest extends StoreFixture {
    private static final HostBuilder STRAY = host().devices(2).with(process(7).uses(0));

    /** A directory may be down after a reboot, so the accounts that it showed are remembered. */
    @Test
    void accountsAreRememberedOverAReboot() throws IOException {
        var found = Map.of("svc-infer", new Found(70_011, 1_800_000_000));
        var accounts = new KnownAccounts(
                "0123456789abcdef",
                found,
                found,
                new KnownGroups(Map.of("phd", 600L), Map.of("alice", Map.of(600L, 5L))));
        cycle();
        node.restore(new Remembered(accounts));
        cycle();
        for (var boot : List.of("boot 1", "boot 2")) {
            node.restore(Remembered.NOTHING);
            processes = boot;
            restart();
            cycle();
            assertThat(node.remembered().accounts()).as(boot).isEqualTo(accounts);
        }
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

    /** No policy has the rule, so the first cycle resolves an active violation. */
    @Test
    void violationsAndEventsOfARemovedRuleAreRead() throws Exception {
        node.setSnapshot(STRAY);
        cycle();
        node.setSnapshot(host().devices(2));
        stop();
        query("UPDATE violation SET rule = 'unlisted-processes',"
                + " entry = replace(entry, 'non-env-processes', 'unlisted-processes')");
        query("UPDATE event SET content = replace(content, 'non-env-processes', 'unlisted-processes')");
        start();
        assertThat(only().active()).isTrue();
        assertThat(only().violation().rule().name()).isEqualTo("unlisted-processes");
        assertThat(events.after(0, 100).events())
                .extracting(event -> event.content().getClass().getSimpleName())
                .contains("ViolationOpened");
        cycle();
        assertThat(only().active()).isFalse();
        assertThat(problems).isEmpty();
        restart();
        assertThat(only().violation().rule().name()).isEqualTo("unlisted-processes");
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
    void anActionWithoutAResultIsNotRepeated() throws IOException {
        node.setSnapshot(STRAY);
        cycleThatIsKilledAfterTheSignal();
        start();
        cycles(2);
        assertThat(signals()).containsExactly(Signal.TERM);
        assertThat(only().actions()).singleElement().satisfies(note -> {
            assertThat(note.outcome()).isEqualTo(Outcome.FAILED);
            assertThat(note.detail()).contains("it may have been executed");
        });
    }

    /** Schema 3 had a row for an action without a result. */
    @Test
    void aSignalWithoutAResultInAnOlderDatabaseCountsAsPerhapsSent() throws Exception {
        cycle();
        node.setSnapshot(STRAY);
        cycleThatIsKilledAfterTheSignal();
        change(
                "ALTER TABLE action ADD COLUMN planned TEXT",
                """
                INSERT INTO action (at, host, type, outcome, user, devices, pid, start_time, signal, rules, planned, bytes)
                    SELECT 0, host, 'terminate', 'perhaps', '', '[]', key ->> '$.id.pid', key ->> '$.id.start_time', 'TERM',
                        '[]', value -> '$.last', 0 FROM history WHERE kind = 'termination'
                """,
                """
                INSERT INTO action (at, host, type, outcome, user, devices, rules, planned, bytes)
                    VALUES (0, 'here', 'detach', 'perhaps', '', '[]', '[]', 'torn', 0)
                """,
                "DELETE FROM history WHERE kind = 'termination'",
                "PRAGMA user_version = 3");
        start();
        cycles(3);
        assertThat(signals()).containsExactly(Signal.TERM);
        assertThat(only().actions())
                .singleElement()
                .satisfies(note -> assertThat(note.detail()).contains("it may have been executed"));
        assertThat(database.<Long>call(connection ->
                        new Sql(connection).number("SELECT COUNT(*) FROM action WHERE outcome = 'perhaps'")))
                .isZero();
        cycles(2);
        assertThat(signals()).containsExactly(Signal.TERM, Signal.TERM);
    }

    @ParameterizedTest
    @CsvSource({"PERHAPS_ASKED, TERM", "ASKED, KILL", "OVERDUE, KILL", "KILLED,"})
    void aTerminationOfAnOlderDatabaseContinues(String stage, @Nullable Signal next) throws Exception {
        node.setSnapshot(STRAY);
        cycle();
        stop();
        change("ALTER TABLE action ADD COLUMN planned TEXT", """
                UPDATE history SET value = json_set(json_remove(value, '$.at'), '$.stage', '%s', '$.stage_at', value -> '$.at',
                    '$.signalled_at', value -> '$.at') WHERE kind = 'termination'
                """.formatted(stage), "PRAGMA user_version = 3");
        start();
        cycles(3);
        assertThat(signals()).containsExactly(Signal.TERM);
        cycle();
        assertThat(signals())
                .containsExactlyElementsOf(next == null ? List.of(Signal.TERM) : List.of(Signal.TERM, next));
        assertThat(problems).isEmpty();
    }

    private void change(String... statements) throws SQLException {
        var file = directory.resolve(DataFolder.DATABASE);
        try (var connection = DriverManager.getConnection("jdbc:sqlite:" + file);
                var statement = connection.createStatement()) {
            for (var each : statements) {
                statement.execute(each);
            }
        }
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

    /** The grace period in seconds, what happens, and the first letters of the signals that were sent until each look. */
    @ParameterizedTest
    @CsvSource(delimiter = '|', textBlock = """
        # the new mode counts, and in audit mode no SIGKILL is sent
        0  | audit; restart; stray; cycle 3; enforce; restart; cycle 1; see; audit; restart; cycle 20; see            | T, T
        # a signal of the cycle that begins a new database or the first one of a boot is not repeated, although the service is killed
        0  | cycle 1; lose; stray; killed; start; cycle 2; see                                                        | T
        0  | stray; cycle 1; boot 2; restart; killed; start; cycle 2; see; boot 3; restart; cycle 1; see              | TT, TTT
        # one that may have been signalled gets SIGTERM after the time until SIGKILL, which a restart does not shorten, and SIGKILL after that
        0  | cycle 1; stray; killed; start; cycle 3; see; cycle 1; see; cycle 2; see; cycle 1; see                   | T, TT, TT, TTK
        0  | cycle 1; stray; killed; start; cycle 2; restart; cycle 2; see; cycle 1; see                             | T, TT
        # and is asked once, also if a run ends before its first cycle
        0  | stray; killed; start; stop; start; cycle 1; restart; cycle 1; see                                       | T
        # a grace period that passed in audit mode begins again, and the first cycle after a restart adds no time
        60 | audit; restart; stray; cycle 20; enforce; restart; cycle 6; see; restart; cycle 1; see; cycle 1; see     | -, -, T
        # after 50 s: it does not continue after a long stop, or with a wall clock that was set back
        60 | restart; stray; cycle 6; stop; pass PT59M; start; cycle 1; see; cycle 1; see                             | -, T
        60 | restart; stray; cycle 6; stop; pass PT61M; start; cycle 6; see; cycle 1; see                             | -, T
        60 | restart; stray; cycle 6; stop; back PT1M; start; cycle 6; see; cycle 1; see                              | -, T
        """)
    void noSignalIsSentEarlierOrTwice(int grace, String steps, String expected) throws IOException {
        if (grace > 0) {
            limits = new SafetyLimits(Duration.ofSeconds(grace), null, 0);
        }
        var seen = new ArrayList<String>();
        for (var step : steps.split("; ", -1)) {
            var words = step.split(" ", -1);
            switch (words[0]) {
                case "audit" -> mode = ServiceMode.AUDIT;
                case "enforce" -> mode = ServiceMode.ENFORCE;
                case "stray" -> node.setSnapshot(STRAY);
                case "cycle" -> cycles(Integer.parseInt(words[1]));
                case "killed" -> cycleThatIsKilledAfterTheSignal();
                case "boot" -> processes = step;
                case "lose" -> Files.delete(directory.resolve(DataFolder.DATABASE));
                case "pass" -> time.pass(Duration.parse(words[1]));
                case "back" -> time.setWallBack(Duration.parse(words[1]));
                case "stop" -> stop();
                case "start" -> start();
                case "restart" -> restart();
                default -> {
                    var sent = node.executed.stream()
                            .map(action ->
                                    ((Action.Terminate) action).signal().name().substring(0, 1))
                            .collect(Collectors.joining());
                    seen.add(sent.isEmpty() ? "-" : sent);
                }
            }
        }
        assertThat(seen).containsExactly(expected.split(", ", -1));
    }

    private void cycles(int count) {
        for (var cycle = 0; cycle < count; cycle++) {
            cycle();
        }
    }

    // A service that is restarted at random acts on the same processes as one that is not, never earlier and never more
    // often.

    /** The default start time of processes. */
    private static final long FIRST_TICKS = 991_232;

    private static final int CHANGING = 50;
    private static final int STABLE = 60;

    @TempDir
    Path folder;

    /** What was stored last, and what was restored. */
    private @Nullable CycleCommit last;

    private Restored restored = Restored.nothing(false);

    private void enforceEveryRule() {
        stop();
        rules = Map.of(
                KnownRules.NON_ENV_PROCESSES, RuleMode.ENFORCE,
                KnownRules.INACTIVE_ENV_PROCESSES, RuleMode.ENFORCE,
                KnownRules.ENV_DEVICES, RuleMode.ENFORCE,
                KnownRules.ENV_OWNER, RuleMode.ENFORCE);
        limits = new SafetyLimits(Duration.ofSeconds(20), Duration.ofSeconds(30), Duration.ofHours(20), 0);
        ticks = FIRST_TICKS;
    }

    @Override
    Store watched(Store opened) {
        return (Store) Proxy.newProxyInstance(
                Store.class.getClassLoader(), new Class<?>[] {Store.class}, (_, method, arguments) -> {
                    var result = method.invoke(opened, arguments);
                    if (result instanceof Restored its) {
                        restored = its;
                    } else if (method.getName().equals("commit")) {
                        last = (CycleCommit) arguments[0];
                    }
                    return result;
                });
    }

    @ParameterizedTest
    @ValueSource(longs = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12})
    void aRestartOnlyDelays(long seed) throws IOException {
        enforceEveryRule();
        var snapshots = snapshots(new Random(seed));
        var restarts = new Random(-seed);
        var without = run(snapshots, "without", _ -> false);
        var with = run(snapshots, "with", cycle -> cycle < CHANGING && restarts.nextInt(3) == 0);
        for (var cycle = 0; cycle < snapshots.size(); cycle++) {
            var more = with.counts.get(cycle);
            var all = without.counts.get(cycle);
            more.forEach((action, count) -> assertThat(count)
                    .as("%s of seed %d", action, seed)
                    .isLessThanOrEqualTo(all.getOrDefault(action, 0)));
        }
        without.counts.getLast().forEach((action, count) -> {
            if (without.violating.contains(action.substring(0, action.indexOf(' ')))) {
                assertThat(with.counts.getLast()).as("seed %d", seed).containsEntry(action, count);
            }
        });
        assertThat(with.opened).isEqualTo(without.opened);
    }

    /**
     * What happened.
     *
     * @param counts how often each action was executed up to each cycle
     * @param opened how many violations appeared
     * @param violating the pids that break a rule at the end, other than that of the owner
     */
    private record Run(List<Map<String, Integer>> counts, long opened, Set<String> violating) {}

    private Run run(List<HostBuilder> snapshots, String name, IntPredicate restartsAfter) throws IOException {
        time = new FakeTime();
        node = new FakeHost(snapshots.getFirst());
        directory = Files.createDirectory(folder.resolve(name));
        var opened = 0L;
        var latest = 0L;
        var counts = new ArrayList<Map<String, Integer>>();
        start();
        for (var cycle = 0; cycle < snapshots.size(); cycle++) {
            node.setSnapshot(snapshots.get(cycle));
            cycle();
            var count = new HashMap<String, Integer>();
            node.executed.forEach(action -> count.merge(text(action), 1, Integer::sum));
            counts.add(count);
            opened += events.after(latest, 10_000).events().stream()
                    .map(Event::content)
                    .filter(EventContent.ViolationOpened.class::isInstance)
                    .count();
            latest = events.latest();
            if (restartsAfter.test(cycle)) {
                var stored = Objects.requireNonNull(last);
                restart();
                assertThat(restored.cycle()).hasValue(stored.cycle());
                assertThat(present(restored.state())).isEqualTo(present(stored.state()));
            }
        }
        stop();
        var violating = enforcer.latest().orElseThrow().plan().violations().stream()
                .filter(violation ->
                        !violation.rule().equals(KnownRules.ENV_OWNER)) // its grace depends on the whole past
                .flatMap(violation -> violation.processes().stream())
                .map(each -> Integer.toString(each.pid()))
                .collect(Collectors.toSet());
        return new Run(counts, opened, violating);
    }

    private static Map<SavedKind<?, ?>, Object> present(SavedState state) {
        var present = new HashMap<SavedKind<?, ?>, Object>(state.all());
        present.values().removeIf(entries -> ((Map<?, ?>) entries).isEmpty());
        return present;
    }

    private static String text(Action action) {
        return action instanceof Action.Terminate terminate
                ? "%d %s".formatted(terminate.process().pid(), terminate.signal())
                : action.toString();
    }

    /** States that change at random: environments, attachments, owners, and processes that come and go. */
    private static List<HostBuilder> snapshots(Random random) {
        var snapshots = new ArrayList<HostBuilder>();
        var pids = new ArrayList<Integer>();
        var environments = new HashMap<String, Integer>(Map.of("a", 0, "b", 1));
        for (var cycle = 0; cycle < CHANGING; cycle++) {
            if (random.nextInt(4) == 0) {
                pids.add(100 + cycle);
            }
            if (random.nextInt(10) == 0 && !pids.isEmpty()) {
                pids.removeIf(pids.get(random.nextInt(pids.size()))::equals);
            }
            var name = List.of("a", "b", "c").get(random.nextInt(3));
            switch (random.nextInt(6)) {
                case 0 -> environments.remove(name);
                case 1, 2 -> environments.put(name, random.nextInt(3));
                default -> {}
            }
            snapshots.add(snapshot(pids, environments));
        }
        for (var cycle = 0; cycle < STABLE; cycle++) {
            snapshots.add(snapshot(pids, environments));
        }
        return snapshots;
    }

    private static HostBuilder snapshot(List<Integer> pids, Map<String, Integer> environments) {
        var builder = host().devices(3);
        environments.forEach((name, device) -> builder.with(
                env(name).uid(1000 + name.charAt(0)).pids(name.charAt(0)).attached(device)));
        for (var pid : pids) {
            var started = process(pid).startedLaterBy(1_000L * (pid - 100) + 500);
            var each = pid % 4 == 0
                    ? started
                    : started.inEnvironment(List.of("a", "b", "c").get(pid % 3));
            builder.with(each.uid(1097 + pid % 2).uses(pid % 3));
        }
        return builder;
    }
}
