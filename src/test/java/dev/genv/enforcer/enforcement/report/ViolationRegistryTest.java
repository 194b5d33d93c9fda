package dev.genv.enforcer.enforcement.report;

import static dev.genv.enforcer.testsupport.builder.GpuProcessBuilder.id;
import static dev.genv.enforcer.testsupport.builder.GpuProcessBuilder.process;
import static dev.genv.enforcer.testsupport.builder.HostBuilder.host;
import static dev.genv.enforcer.testsupport.builder.HostBuilder.remote;
import static org.assertj.core.api.Assertions.assertThat;

import dev.genv.enforcer.enforcement.host.ActionRecord;
import dev.genv.enforcer.enforcement.host.Outcome;
import dev.genv.enforcer.enforcement.host.Result;
import dev.genv.enforcer.model.Fleet;
import dev.genv.enforcer.model.GpuProcess;
import dev.genv.enforcer.model.ProcessId.HostProcess;
import dev.genv.enforcer.model.Snapshot;
import dev.genv.enforcer.model.SnapshotPart;
import dev.genv.enforcer.policy.Action;
import dev.genv.enforcer.policy.Plan;
import dev.genv.enforcer.policy.Plan.PlannedAction;
import dev.genv.enforcer.policy.RuleDefinition;
import dev.genv.enforcer.policy.RuleDefinition.RuleMode;
import dev.genv.enforcer.policy.Violation;
import dev.genv.enforcer.testsupport.KnownRules;
import dev.genv.enforcer.testsupport.TableRow;
import dev.genv.enforcer.testsupport.builder.HostBuilder;
import dev.genv.enforcer.testsupport.fake.FakeHost;
import java.time.Instant;
import java.util.EnumSet;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Function;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * Which entries the registry has, in which order it finds them, how many it keeps, the actions that it records with them, and when they are
 * resolved.
 */
class ViolationRegistryTest {
    /**
     * A violation is resolved only if it would have been found. A line is a cycle: the violations that it finds, the hosts, the processes that
     * have ended, and the violations that are active then. Another form of it are the processes whose end is verified.
     */
    private static final String RESOLUTION = """
        a host that is not observed
        non-env-processes@gpu-1:1 non-env-processes@gpu-2:1 → non-env-processes@gpu-1:1 non-env-processes@gpu-2:1
        | gpu-1 unobserved; gpu-2 → non-env-processes@gpu-1:1

        a quota while a host that it counted is not observed, and while another one is not
        quota@gpu-1,gpu-2 → quota@gpu-1
        | gpu-1; gpu-2 unobserved; gpu-3 → quota@gpu-1
        | gpu-1; gpu-2; gpu-3 unobserved →

        a quota that is broken without its unobserved host, where the user may hold as many devices as before
        quota@gpu-1,gpu-2,gpu-3 → quota@gpu-1
        quota@gpu-2,gpu-3 | gpu-1 unobserved; gpu-2; gpu-3 → quota@gpu-1
        | gpu-1 unobserved; gpu-2; gpu-3 → quota@gpu-1
        | gpu-1; gpu-2; gpu-3 →

        a quota that moved away from its unobserved host
        quota@gpu-1 → quota@gpu-1
        quota@gpu-2 | gpu-1 unobserved; gpu-2 → quota@gpu-1
        | gpu-1 unobserved; gpu-2 → quota@gpu-1

        a host that was removed
        non-env-processes@gpu-1:1 quota@gpu-1,gpu-2 → non-env-processes@gpu-1:1 quota@gpu-1
        | gpu-2 unobserved → quota@gpu-1
        | gpu-3 →

        a process of unknown membership, and another one
        non-env-processes@gpu-1:1 → non-env-processes@gpu-1:1
        | gpu-1 + process 1 unknown on 0 → non-env-processes@gpu-1:1
        | gpu-1 + process 2 unknown on 0 →

        a process of unknown membership whose pid a user has written into the state
        non-env-processes@gpu-1:1 → non-env-processes@gpu-1:1
        | gpu-1 + env a pids 1 + process 1 unknown on 0 → non-env-processes@gpu-1:1

        memory of a user despite unknown membership, since the real uids are known
        max-memory-per-user@gpu-1:1 → max-memory-per-user@gpu-1:1
        | gpu-1 + process 1 unknown on 0 →

        a quota despite unknown membership, since the attachments are known
        max-devices-per-user@gpu-1:1 → max-devices-per-user@gpu-1:1
        | gpu-1 + process 1 unknown on 0 →

        a pid that was reused, a process that is excused, and one in an environment
        non-env-processes@gpu-1:1 non-env-processes@gpu-1:2 → non-env-processes@gpu-1:1 non-env-processes@gpu-1:2
        | gpu-1 + env a pids 2 + process 1 later 1 unknown on 0 + process 2 excused 0 on 0 →
        non-env-processes@gpu-1:3 → non-env-processes@gpu-1:3
        | gpu-1 + env a + process 3 in a on 0 →

        a violation whose processes have all ended, also where the listing is never complete
        env-memory@gpu-1:1,2 → env-memory@gpu-1:1,2
        verify
        | gpu-1 missing EVERY_PROCESS → env-memory@gpu-1:1,2
        verify gpu-1/1 gpu-1/2
        | gpu-1 missing EVERY_PROCESS | gpu-1/1 → env-memory@gpu-1:1,2
        | gpu-1 missing EVERY_PROCESS | gpu-1/2 a/1 → env-memory@gpu-1:1,2
        | gpu-1 missing EVERY_PROCESS | gpu-1/1 gpu-1/2 →

        a quota whose processes have ended, which is about attachments
        max-devices-per-user@gpu-1:1 → max-devices-per-user@gpu-1:1
        | gpu-1 missing EVERY_PROCESS → max-devices-per-user@gpu-1:1
        verify
        | gpu-1 missing EVERY_PROCESS | gpu-1/1 → max-devices-per-user@gpu-1:1

        a dispute without processes
        env-owner@gpu-1 → env-owner@gpu-1
        | gpu-1 unobserved → env-owner@gpu-1

        a violation that is found although its process has ended
        non-env-processes@gpu-1:1 → non-env-processes@gpu-1:1
        non-env-processes@gpu-1:1 | gpu-1 | gpu-1/1 → non-env-processes@gpu-1:1\
        """;

    private static final Instant START = Instant.parse("2026-11-20T09:22:28Z");
    private static final String HOSTS = "gpu-1; gpu-2; gpu-3; a; b; c; d; e";

    private final ViolationRegistry registry = new ViolationRegistry(3);
    private Instant now = START;

    static Stream<TableRow> rows() {
        return TableRow.in(RESOLUTION);
    }

    @ParameterizedTest
    @MethodSource("rows")
    void isResolvedOnlyIfItWouldHaveBeenFound(TableRow row) {
        row.lines().forEach(this::follow);
        follow(row.expected());
    }

    /** A file that stays invalid must not keep the violations of another file in memory. */
    @ParameterizedTest
    @MethodSource("dev.genv.enforcer.policy.Rules#definitions")
    void isResolvedOnlyWithAllPartsItsRuleRequires(RuleDefinition rule) {
        var job = process(1).inEnvironment("a").uses(0).build();
        var expected = EnumSet.of(SnapshotPart.PROCESSES, SnapshotPart.EVERY_PROCESS, SnapshotPart.ENVIRONMENTS);
        expected.addAll(rule.requiredParts());
        assertThat(requiredParts(broken(rule, "gpu-1", List.of(job)))).isEqualTo(expected);
    }

    private Set<SnapshotPart> requiredParts(Violation violation) {
        var needed = EnumSet.noneOf(SnapshotPart.class);
        for (var part : SnapshotPart.values()) {
            observeViolations(violation);
            find("", "gpu-1 missing " + part, "");
            if (!registry.active().isEmpty()) {
                needed.add(part);
            }
        }
        return needed;
    }

    /** A shell reads the files of each process: all are verified in turn. */
    @Test
    void verifiesALimitedNumberOfProcessesOfAHostInACycle() {
        var many = AbsentViolations.MAX_VERIFIED + AbsentViolations.MAX_VERIFIED / 2;
        observeViolations(IntStream.rangeClosed(1, many)
                .mapToObj(pid -> strayOn(pid % 2 == 0 ? "a" : "b", pid))
                .toArray(Violation[]::new));
        observeViolations(IntStream.rangeClosed(1, 2 * many)
                .mapToObj(pid -> strayOn("gpu-1", pid))
                .toArray(Violation[]::new));
        find("", "gpu-1 unobserved; a; b", "");

        var verified = new HashSet<HostProcess>();
        for (var cycle = 0; cycle < 3; cycle++) {
            var now = registry.processesToVerify();
            assertThat(now).hasSize(AbsentViolations.MAX_VERIFIED);
            verified.addAll(now);
        }
        assertThat(verified).hasSize(2 * many);
    }

    @Test
    void continuingViolationKeepsItsEntry() {
        observeViolations(strayOn("gpu-1", 1));
        var id = all().getFirst().id();
        now = now.plusSeconds(10);
        var update = observeViolations(strayOn("gpu-1", 1));

        assertThat(update.appeared()).isEmpty();
        assertThat(all()).singleElement().satisfies(entry -> {
            assertThat(entry.id()).isEqualTo(id);
            assertThat(entry.cycles()).isEqualTo(2);
            assertThat(entry.firstSeen()).isEqualTo(START);
            assertThat(entry.lastSeen()).isEqualTo(now);
        });
        assertThat(registry.find(id)).isPresent();
        assertThat(registry.find("another")).isEmpty();
    }

    @Test
    void clockSetBackKeepsTheOrderAndHidesNoViolation() {
        observeViolations(strayOn("gpu-1", 1), strayOn("gpu-1", 2));
        now = START.minusSeconds(3600);
        observeViolations(strayOn("gpu-1", 1), strayOn("gpu-1", 3));

        assertThat(all())
                .extracting(entry -> entry.violation().processes().getFirst().pid())
                .as("newest first")
                .first()
                .isEqualTo(3);
        assertThat(all()).allSatisfy(entry -> {
            assertThat(entry.lastSeen()).isAfterOrEqualTo(entry.firstSeen());
            assertThat(entry.recency().latest())
                    .as("what is asked for since then is found")
                    .isEqualTo(START);
        });
    }

    @Test
    void violationThatReturnsGetsANewEntry() {
        observeViolations(strayOn("gpu-1", 1));
        observeViolations();
        observeViolations(strayOn("gpu-1", 1));

        assertThat(all()).extracting(ViolationRecord::active).containsExactlyInAnyOrder(true, false);
        assertThat(all()).extracting(ViolationRecord::id).doesNotHaveDuplicates();
    }

    /** The host never tells whether they have ended. */
    @Test
    void keepsALimitedAmountOfViolationsThatAreNotFoundAnyMore() {
        var all = withLongTexts(60, remote(observed("gpu-1 unobserved")));
        var texts = all.find(ViolationRecord::active, 10_000).stream()
                .mapToLong(entry -> entry.violation().message().length())
                .sum();
        assertThat(texts).isBetween(1L << 20, 4L << 20);
        assertThat(all.find(
                        entry -> entry.active() && entry.violation().message().startsWith("59-"), 10_000))
                .as("what the last cycle found is kept")
                .hasSize(100);
        assertThat(all.find(entry -> !entry.active(), 10_000)).as("resolved").isNotEmpty();
    }

    /** The registry after cycles that find a hundred violations each, others every time and with the longest texts of a state file. */
    private ViolationRegistry withLongTexts(int cycles, Fleet fleet) {
        var all = new ViolationRegistry(10_000);
        for (var cycle = 0; cycle < cycles; cycle++) {
            var number = cycle;
            var violations = IntStream.range(0, 100)
                    .mapToObj(i -> withTexts("%d-%d".formatted(number, i) + "x".repeat(4_000)))
                    .toList();
            record(all, violations, List.of(), _ -> RuleMode.AUDIT, fleet);
        }
        return all;
    }

    @Test
    void keepsAllActiveAndTheLatestResolvedEntries() {
        for (var pid = 1; pid <= 5; pid++) {
            observeViolations(strayOn("gpu-1", pid));
            now = now.plusSeconds(1);
        }
        observeViolations();
        assertThat(all()).extracting(ViolationRegistryTest::pid).containsExactly(5, 4, 3);

        observeViolations(strayOn("a", 1), strayOn("b", 1), strayOn("c", 1), strayOn("d", 1), strayOn("e", 1));
        assertThat(registry.find(ViolationRecord::active, 100)).hasSize(5);
    }

    @Test
    void keepsFewerResolvedViolationsTheLongerTheirTextsAre() {
        var all = withLongTexts(40, remote(host("gpu-1")));
        var texts = all.find(entry -> !entry.active(), 10_000).stream()
                .mapToLong(entry -> entry.violation().message().length())
                .sum();
        assertThat(texts).isBetween(1L << 20, 4L << 20);
        assertThat(all.find(ViolationRecord::active, 10_000)).hasSize(100);
        assertThat(all.find(entry -> entry.violation().message().startsWith("38-"), 10_000))
                .as("the oldest are dropped first")
                .hasSize(100);
    }

    @Test
    void keepsTenThousandResolvedViolationsWithOrdinaryTexts() {
        var all = new ViolationRegistry(10_000);
        var violations = IntStream.range(0, 10_000)
                .mapToObj(pid -> strayOn("gpu-1", pid))
                .toList();
        record(all, violations, List.of(), _ -> RuleMode.AUDIT, remote(host("gpu-1")));
        record(all, List.of(), List.of(), _ -> RuleMode.AUDIT, remote(host("gpu-1")));
        assertThat(all.find(entry -> !entry.active(), 20_000)).hasSize(10_000);
    }

    private static Violation withTexts(String text) {
        return new Violation(KnownRules.ENV_OWNER, "gpu-1", text, text, text, text, List.of(), List.of());
    }

    @Test
    void actionOfTwoRulesIsRecordedWithBoth() {
        var stray = strayOn("gpu-1", 1);
        var memory = new Violation(
                KnownRules.ENV_MEMORY, "gpu-1", "environment a", "…", "raz", "a", List.of(0), stray.processes());
        var record = record(stray.processes().getFirst().pid(), Outcome.SIGNALLED, stray, memory);

        record(
                registry,
                List.of(stray, memory),
                List.of(record),
                rule -> rule.equals(KnownRules.ENV_MEMORY) ? RuleMode.AUDIT : RuleMode.ENFORCE,
                host("gpu-1").fleet());

        assertThat(outcome(KnownRules.NON_ENV_PROCESSES)).isEqualTo(Outcome.SIGNALLED);
        assertThat(outcome(KnownRules.ENV_MEMORY))
                .as("this rule alone would not have ended it")
                .isEqualTo(Outcome.SKIPPED_AUDIT);
    }

    @Test
    void recordsRepeatedOutcomeOnceAndEachChange() {
        var stray = strayOn("gpu-1", 1);
        for (var outcome : List.of(
                Outcome.DENIED,
                Outcome.DENIED,
                Outcome.FAILED,
                Outcome.DENIED,
                Outcome.SIGNALLED,
                Outcome.SIGNALLED)) { // as an environment that attaches the same device repeatedly is detached each
            // time
            now = now.plusSeconds(1);
            update(List.of(record(1, outcome, stray)), stray);
        }
        assertThat(all().getFirst().actions())
                .extracting(ViolationRecord.ActionNote::outcome)
                .containsExactly(Outcome.DENIED, Outcome.FAILED, Outcome.DENIED, Outcome.SIGNALLED, Outcome.SIGNALLED);
    }

    @Test
    void keepsAtMostTheMaximumOfActions() {
        var stray = strayOn("gpu-1", 1);
        for (var i = 0; i < 3 * ViolationRegistry.MAX_ACTIONS; i++) {
            update(List.of(record(1, i % 2 == 0 ? Outcome.DENIED : Outcome.FAILED, stray)), stray);
        }
        assertThat(all().getFirst().actions()).hasSize(ViolationRegistry.MAX_ACTIONS);
    }

    /** Follows a line of the table. */
    private void follow(String line) {
        if (line.startsWith("verify")) {
            assertThat(registry.processesToVerify()).isEqualTo(processes(line.substring("verify".length())));
            return;
        }
        var sides = List.of(line.split(" ?→ ?", -1));
        var parts = List.of((sides.getFirst() + " | | ").split(" ?\\| ?", -1));
        var before = registry.active();
        var update = find(parts.getFirst(), parts.get(1).isBlank() ? HOSTS : parts.get(1), parts.get(2));
        var expected = violations(sides.getLast()).stream().map(Violation::key).collect(Collectors.toSet());
        assertThat(registry.active()).as(line).isEqualTo(expected);
        assertThat(update.resolved())
                .as("resolved")
                .extracting(entry -> entry.violation().key())
                .containsExactlyInAnyOrderElementsOf(
                        before.stream().filter(key -> !expected.contains(key)).toList());
    }

    private ViolationRegistry.Update find(String violations, String hosts, String ended) {
        var exited = processes(ended);
        var snapshots = Stream.of(hosts.split("; ", -1))
                .map(ViolationRegistryTest::observed)
                .map(host -> snapshot(host, exited))
                .toList();
        return record(
                registry, violations(violations), List.of(), _ -> RuleMode.ENFORCE, new Fleet(snapshots, true, now));
    }

    private static Snapshot snapshot(HostBuilder host, Set<HostProcess> exited) {
        var observed = new FakeHost(host);
        exited.stream()
                .filter(process -> process.host().equals(observed.name()))
                .forEach(process -> observed.setExited(process.id()));
        return observed.observe();
    }

    private static HostBuilder observed(String text) {
        var words = List.of(text.split(" ", 2));
        var host = host(words.getFirst());
        return switch (words.getLast()) {
            case "unobserved" -> host.missing(SnapshotPart.values());
            case String what when what.startsWith("missing") -> host.with(what);
            case String what
            when what.startsWith("+ ") -> host.with(what.substring(2).split(" \\+ ", -1));
            default -> host;
        };
    }

    private static Set<HostProcess> processes(String text) {
        return words(text)
                .map(word -> word.split("/", -1))
                .map(parts -> id(parts[0], Integer.parseInt(parts[1])))
                .collect(Collectors.toSet());
    }

    private static List<Violation> violations(String text) {
        return words(text).map(ViolationRegistryTest::violation).toList();
    }

    /** A rule, the host, and its processes, or {@code quota} and its hosts. */
    private static Violation violation(String text) {
        var parts = List.of(text.split("[@:]", -1));
        if (parts.getFirst().equals("quota")) {
            return quota(parts.getLast().split(",", -1));
        }
        var pids = parts.size() < 3
                ? Stream.<String>empty()
                : Stream.of(parts.get(2).split(",", -1));
        var processes =
                pids.map(pid -> process(Integer.parseInt(pid)).uses(0).build()).toList();
        return broken(KnownRules.named(parts.getFirst()), parts.get(1), processes);
    }

    private static Stream<String> words(String text) {
        return Stream.of(text.split(" ", -1)).filter(word -> !word.isEmpty());
    }

    private static Violation broken(RuleDefinition rule, String host, List<GpuProcess> processes) {
        var subject = "processes " + processes.stream().map(GpuProcess::pid).toList();
        return new Violation(rule, host, subject, "…", null, null, List.of(0), processes);
    }

    private static Violation strayOn(String host, int pid) {
        return violation("non-env-processes@%s:%d".formatted(host, pid));
    }

    private static Violation quota(String... hosts) {
        return new Violation(
                KnownRules.MAX_DEVICES_PER_USER,
                hosts.length == 1 ? hosts[0] : null,
                Set.of(hosts),
                "user raz",
                "…",
                "raz",
                null,
                List.of(0),
                List.of());
    }

    private List<ViolationRecord> all() {
        return registry.find(_ -> true, 100);
    }

    private static int pid(ViolationRecord entry) {
        return entry.violation().processes().getFirst().pid();
    }

    private ViolationRegistry.Update observeViolations(Violation... violations) {
        return update(List.of(), violations);
    }

    private ViolationRegistry.Update update(List<ActionRecord> records, Violation... violations) {
        var snapshots = Stream.of(HOSTS.split("; ", -1))
                .map(name -> host(name).snapshot())
                .toList();
        var fleet = new Fleet(snapshots, true, now);
        return record(registry, List.of(violations), records, _ -> RuleMode.ENFORCE, fleet);
    }

    /** Records a cycle, and shows it to readers at once. */
    private static ViolationRegistry.Update record(
            ViolationRegistry registry,
            List<Violation> violations,
            List<ActionRecord> actions,
            Function<RuleDefinition, RuleMode> modes,
            Fleet fleet) {
        var update = registry.remember(new Plan(violations, List.of(), List.of()), fleet, actions, Map.of(), modes);
        registry.publish();
        return update;
    }

    private Outcome outcome(RuleDefinition rule) {
        return registry.find(entry -> entry.violation().rule().equals(rule), 1)
                .getFirst()
                .actions()
                .getFirst()
                .outcome();
    }

    private ActionRecord record(int pid, Outcome outcome, Violation... causes) {
        var action = new Action.Terminate("gpu-1", process(pid).uses(0).build());
        return new ActionRecord(new PlannedAction(action, List.of(causes)), Result.of(outcome), now);
    }
}
